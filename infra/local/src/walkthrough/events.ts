import { readFileSync } from 'node:fs'
import type { DeliveryView } from '../receiver/receiver-pages.js'
import type { Hook } from '../receiver/receiver.js'
import { waitUntil } from '../wait-until.js'
import { call, check } from './http.js'
import type { Person, Walk, World } from './world.js'

/** A finished recording as the recorder reports it, without its owner. */
export interface Recording {
  audio_id: string
  recording: { title: string; duration_ms: number }
  transcript: { text: string; segments: unknown[] }
  summaries: { content: string; format: string }[]
}

export type RecordingName = 'product-review' | 'listening-day'

export const readRecording = (name: RecordingName): Recording =>
  JSON.parse(readFileSync(new URL(`../../recordings/${name}.json`, import.meta.url), 'utf8')) as Recording

/** Reports that the summary of a recording is ready, as the recorder would. Returns the event's id. */
export async function publishRecording(
  world: World,
  { accountId }: Person,
  recording: Recording,
  key: string,
): Promise<string> {
  const url = `${world.internalUrl}/internal/v1/summary-ready`
  const json = {
    ...recording,
    source_event_key: `walkthrough:${accountId}:${key}`,
    account_id: accountId,
    audio_id: `${recording.audio_id}-${key}`,
  }
  const request = { bearer: world.internalToken, json, status: 202 }
  return (await call<{ event_id: string }>(world, 'POST', url, request)).event_id
}

/** Tells the receiver what a path expects and how to respond; returns the address for a subscription. */
export async function setHook(world: World, path: string, hook: Hook): Promise<string> {
  const json = { path, ...hook }
  return (await call<{ url: string }>(world, 'PUT', `${world.sandboxUrl}/api/hooks`, { json })).url
}

/** Waits for the next delivery of an event after a given one, and requires that what arrives verifies. */
export async function nextDelivery(
  { world, subscription }: Walk,
  eventId: string,
  after: number,
): Promise<DeliveryView> {
  const url = `${world.sandboxUrl}/api/deliveries?path=${subscription.path}&after=${after}`
  return waitUntil(
    async () => {
      const { items } = await call<{ items: DeliveryView[] }>(world, 'GET', url)
      for (const { verified, refusal } of items)
        check(verified === true, `the signature is right (${refusal})`)
      return items.find((item) => item.eventId === eventId)
    },
    { describe: `event ${eventId} at the receiver` },
  )
}
