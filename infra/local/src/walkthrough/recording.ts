import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expectJson, send } from './http.js'
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
  person: Person,
  recording: Recording,
  key: string,
): Promise<string> {
  const answer = await send('POST', `${world.internalUrl}/internal/v1/summary-ready`, {
    at: 'webhooks (internal)',
    bearer: world.internalToken,
    json: {
      ...recording,
      source_event_key: `walkthrough:${person.accountId}:${key}`,
      account_id: person.accountId,
      audio_id: `${recording.audio_id}-${key}`,
    },
  })
  return expectJson<{ event_id: string }>(answer, 202).event_id
}
