import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { call } from './http.js'
import type { Person, World } from './world.js'

/** A finished recording as the recorder reports it, without its owner. */
export interface Recording {
  audio_id: string
  recording: { title: string; duration_ms: number }
  transcript: { text: string; segments: unknown[] }
  summaries: { content: string; format: string }[]
}

export type RecordingName = 'product-review' | 'listening-day'

export function readRecording({ recordingsFolder }: World, name: RecordingName): Recording {
  return JSON.parse(readFileSync(join(recordingsFolder, `${name}.json`), 'utf8')) as Recording
}

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
