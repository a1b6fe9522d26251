import { type EventId } from '../ids.js'
import { type TranscriptSegment } from '../stores/recording-store.js'
import { longestEscapedPrefix } from './json-size.js'
import { PAYLOAD_TARGET_BYTES } from './target-size.js'

/** The payload of `summary.completed` (contract A.5). Member order is the order in the body. */
export type SummaryCompletedData = {
  audio_id: string
  report_id?: string
  status?: number
  title?: string
  duration_ms?: number
  recorded_at?: string
  transcript?: { language?: string; text: string; truncated: boolean; segments?: TranscriptSegment[] }
  summaries?: { label: string; content: string; format: string; template_name?: string }[]
}

export type SummaryCompleted = {
  id: EventId | `evt_sample_${string}`
  type: 'summary.completed'
  created_at: string
  data: SummaryCompletedData
}

const fits = (json: string) => Buffer.byteLength(json) <= PAYLOAD_TARGET_BYTES

/**
 * The envelope as JSON text. When it is over the target, the segments go first, then the end of the transcript's text;
 * summaries are never cut, so the result may still exceed it.
 */
export function freezeSummaryCompleted(envelope: SummaryCompleted): string {
  const whole = JSON.stringify(envelope)
  const { transcript } = envelope.data
  if (fits(whole) || transcript === undefined) return whole
  const { segments, ...plain } = transcript
  const withTranscript = (changed: typeof transcript) =>
    JSON.stringify({ ...envelope, data: { ...envelope.data, transcript: changed } })
  if (segments !== undefined) {
    const withoutSegments = withTranscript(plain)
    if (fits(withoutSegments)) return withoutSegments
  }
  const budget =
    PAYLOAD_TARGET_BYTES - Buffer.byteLength(withTranscript({ ...plain, text: '', truncated: false }))
  return withTranscript({ ...plain, text: longestEscapedPrefix(plain.text, budget), truncated: true })
}

/** A `webhook.ping` as JSON text (contract E.6). */
export function freezePing(ping: { id: EventId; createdAt: Date; endpointId: string }): string {
  return JSON.stringify({
    id: ping.id,
    type: 'webhook.ping',
    created_at: ping.createdAt.toISOString(),
    data: { endpoint_id: ping.endpointId, message: 'This is a test event.' },
  })
}
