import { readFileSync } from 'node:fs'
import type { SummaryCompletedEvent } from '@signet/webhook-verify'
import type { DeliveryView } from '../receiver/receiver-pages.js'
import type { Hook } from '../receiver/receiver.js'
import { dim } from '../terminal.js'
import { waitUntil } from '../wait-until.js'
import { call, check, shorten, tell, type World } from './http.js'
import type { Person } from './sign-up.js'

const ONE_MIB = 1_048_576
const EXCERPT_LINES = 12
const LINE_LENGTH = 96

/** What all steps after the third one need. */
export interface Walk {
  world: World
  person: Person
  /** The application's access token. */
  accessToken: string
  webhook: Awaited<ReturnType<typeof createWebhook>>
}

/** A finished recording as the recorder reports it, without its owner. */
interface Recording {
  audio_id: string
  recording: { title: string; duration_ms: number }
  transcript: { text: string; segments: unknown[] }
  summaries: { content: string; format: string }[]
}

export type RecordingName = 'product-review' | 'listening-day'

export const readRecording = (name: RecordingName): Recording =>
  JSON.parse(readFileSync(new URL(`../../recordings/${name}.json`, import.meta.url), 'utf8')) as Recording

/** Creates a webhook for the local HTTPS receiver. */
export async function createWebhook(world: World, bearer: string, name: string) {
  const path = `/hooks/${name}`
  const url = await setHook(world, path, {})
  const request = { bearer, json: { url, events: ['summary.completed'] } }
  type Created = { endpoint_id: string; secret: string }
  const created = await call<Created>(world, 'POST', `${world.webhooks}/v1/webhooks`, request)
  const { endpoint_id: endpointId, secret } = created
  await setHook(world, path, { secret })
  tell(`Webhook ${endpointId} sends summary.completed to ${url}.`)
  tell('Its signing secret was shown once; the receiver keeps it and refuses everything it does not sign.')
  return { endpointId, secret, path }
}

/** Asks for a test event. Returns its id. */
export async function sendTestEvent(walk: Omit<Walk, 'person'>): Promise<string> {
  const { world, accessToken: bearer, webhook } = walk
  const url = `${world.webhooks}/v1/webhooks/${webhook.endpointId}/test`
  const answer = await call<{ event_id: string; queued: boolean }>(world, 'POST', url, { bearer })
  check(answer.queued, 'the test event is queued')
  return answer.event_id
}

/** Checks that a test event arrives with a signature. */
export async function ping(walk: Walk): Promise<void> {
  const eventId = await sendTestEvent(walk)
  const { bytes } = await arrival(walk, eventId)
  tell(`webhook.ping ${eventId} arrived over TLS; its signature matches the ${bytes} bytes received.`)
}

/** Publishes the summaries of two recordings: a normal meeting, and one that is too large. */
export async function summaries(walk: Walk): Promise<void> {
  showMeeting(await summary(walk, 'product-review'))
  showSizeRule(await summary(walk, 'listening-day'))
}

async function summary(walk: Walk, name: RecordingName) {
  const sent = readRecording(name)
  const eventId = await publishRecording(walk.world, walk.person, sent, name)
  const { bytes, number } = await arrival(walk, eventId)
  // Reads the event that was parsed from the bytes that the receiver verified.
  const url = `${walk.world.inbox}/api/deliveries/${number}`
  const { data } = await call<SummaryCompletedEvent>(walk.world, 'GET', url)
  return { sent, data, bytes }
}

type Summary = Awaited<ReturnType<typeof summary>>

function showMeeting({ sent: { recording, transcript }, data }: Summary): void {
  const [summary] = data.summaries ?? []
  check(summary?.format === 'markdown', 'the HTML summary became Markdown')
  check(!/<(h1|p|li|table)\b/.test(summary.content), 'no HTML is left in it')
  const { length } = transcript.segments
  check(data.transcript?.segments?.length === length, 'every transcript segment arrived')
  const minutes = Math.round(recording.duration_ms / 60_000)
  tell(`"${data.title}", ${minutes} minutes, ${length} segments. Its summary, now Markdown, begins:`)
  for (const line of summary.content.split('\n').slice(0, EXCERPT_LINES))
    tell(dim(`  │ ${shorten(line, LINE_LENGTH)}`))
}

function showSizeRule({ sent, data, bytes }: Summary): void {
  const whole = Buffer.byteLength(JSON.stringify(sent))
  check(whole > ONE_MIB, 'the recording is larger than 1 MiB')
  check(data.transcript !== undefined && !('segments' in data.transcript), 'the segments were left out')
  check(data.transcript.text === sent.transcript.text, 'the text is complete')
  check(!data.transcript.truncated, 'the text is not marked as cut')
  check(bytes <= ONE_MIB, 'the payload fits in 1 MiB')
  const { length } = sent.transcript.segments
  tell(`"${data.title}" is ${mib(whole)} MiB as recorded. The event leaves out its ${length}`)
  tell(`segments, keeps text and summary whole, and fits the 1 MiB target with ${mib(bytes)} MiB.`)
}

const mib = (bytes: number): string => (bytes / ONE_MIB).toFixed(2)

/** Makes the receiver fail once, checks that the retry succeeds, and shows both in the delivery log. */
export async function retry(walk: Walk): Promise<void> {
  const { world, person, accessToken: bearer } = walk
  const { path, secret, endpointId } = walk.webhook
  await setHook(world, path, { secret, answers: [{ status: 500 }] })
  tell('The receiver will answer 500 to the next request.')
  const eventId = await publishRecording(world, person, readRecording('product-review'), 'retry')
  const [first, second] = [await arrival(walk, eventId), await arrival(walk, eventId, 2)]
  const inBoth = (header: string): boolean => first.headers[header] === second.headers[header]
  check(inBoth('x-service-delivery'), 'both attempts carry the same delivery id')
  check(!inBoth('x-service-signature'), 'the second attempt is signed again')
  const waitedSeconds = ((Date.parse(second.receivedAt) - Date.parse(first.receivedAt)) / 1000).toFixed(1)
  tell(`It was sent again ${waitedSeconds} s later, with the same ids and a new signature, and was accepted.`)

  type Log = { items: { status: number; attempts: number; last_error: string }[] }
  const url = `${world.webhooks}/v1/webhooks/${endpointId}/deliveries?event_id=${eventId}`
  const { attempts, status, last_error } = await waitUntil(
    async () =>
      (await call<Log>(world, 'GET', url, { bearer, quiet: true })).items.find((item) => item.status !== 0),
    { describe: 'final state in the delivery log' },
  )
  tell(`GET …/deliveries shows attempts: ${attempts}, status: ${status}, last_error: ${last_error}`)
  check(attempts === 2 && status === 1, 'the log shows 2 attempts and status 1')
}

/** Reports that the summary of a recording is ready, as the recorder would. Returns the event's id. */
export async function publishRecording(
  world: World,
  { accountId }: Person,
  recording: Recording,
  key: string,
): Promise<string> {
  const url = `${world.internal}/internal/v1/summary-ready`
  const json = {
    ...recording,
    source_event_key: `walkthrough:${accountId}:${key}`,
    account_id: accountId,
    audio_id: `${recording.audio_id}-${key}`,
  }
  const request = { bearer: world.internalToken, json, status: 202 }
  return (await call<{ event_id: string }>(world, 'POST', url, request)).event_id
}

/** Tells the receiver what a path expects and how to respond. Returns the address for a webhook. */
export async function setHook(world: World, path: string, hook: Hook): Promise<string> {
  const json = { path, ...hook }
  return (await call<{ url: string }>(world, 'PUT', `${world.inbox}/api/hooks`, { json })).url
}

/** Waits for the delivery of an event, the first or a later attempt, and requires that it verifies. */
const arrival = ({ world, webhook: { path } }: Walk, eventId: string, attempt = 1) =>
  waitUntil(
    async () => {
      const url = `${world.inbox}/api/deliveries?path=${path}`
      const { items } = await call<{ items: DeliveryView[] }>(world, 'GET', url)
      for (const { verified, refusal } of items)
        check(verified === true, `the signature is right (${refusal})`)
      return items.filter((item) => item.eventId === eventId)[attempt - 1]
    },
    { describe: `event ${eventId} at the receiver` },
  )
