import type {
  RecordingFields,
  SummaryFields,
  TranscriptFields,
  TranscriptSegment,
} from '@signet/webhook-core/stores'
import { storable } from '../text/storable.js'
import type { RecordingParts } from './encoded-parts.js'
import { malformed } from './refused-body-error.js'

type Nullable<T> = { [K in keyof T]?: T[K] | null }

type RecordingFieldsBody = Nullable<{
  report_id: string
  status: number
  title: string
  duration_ms: number
  recorded_at: string
}>
type TranscriptBody = { text: string } & Nullable<{
  language: string
  segments: NonNullable<TranscriptFields['segments']>
}>
type SummaryBody = { label: string; content: string; format: string; template_name?: string | null }

/** The parts of a body that fits its schema; null members count as left out. */
export type RecordingBody = RecordingFieldsBody & {
  recording?: RecordingFieldsBody | null
  transcript?: TranscriptBody | null
  summaries?: SummaryBody[] | null
}
export type SummaryReadyBody = RecordingBody & {
  source_event_key: string
  account_id: string
  audio_id: string
}

/** What PostgreSQL cannot store is replaced here, so that what is stored and what is sent are the same. */
export const recordingParts = ({ recording, transcript, summaries }: RecordingBody): RecordingParts => ({
  recording: recording ? recordingOf(recording) : recording,
  transcript: transcript ? transcriptOf(transcript) : transcript,
  summaries: summaries ? summaries.map(summaryOf) : summaries,
})

const recordingOf = (body: RecordingFieldsBody): RecordingFields => ({
  reportId: optional(body.report_id),
  status: body.status ?? undefined,
  title: optional(body.title),
  durationMs: body.duration_ms ?? undefined,
  recordedAt: body.recorded_at == null ? undefined : timeOf(body.recorded_at),
})

const transcriptOf = ({ language, text, segments }: TranscriptBody): TranscriptFields => ({
  language: optional(language),
  text: storable(text),
  segments: segments?.map(segmentOf) ?? undefined,
})

/** In the documented member order: stored and sent as it is. */
const segmentOf = ({ speaker, start, end, text }: TranscriptSegment): TranscriptSegment => ({
  speaker: storable(speaker),
  start,
  end,
  text: storable(text),
})

const summaryOf = ({ label, content, format, template_name }: SummaryBody): SummaryFields => ({
  label: storable(label),
  content: storable(content),
  format: storable(format),
  templateName: optional(template_name),
})

const optional = (text: string | null | undefined): string | undefined =>
  text == null ? undefined : storable(text)

const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt ](?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/

function timeOf(text: string): Date {
  const time = new Date(RFC_3339.test(text) && isDay(text.slice(0, 10)) ? text : NaN)
  // In UTC it may lie beyond the year 9999, which payloads could not write in four digits, or before the year 1, which
  // PostgreSQL does not take.
  if (Number.isNaN(time.getTime()) || !/^(?!0000)\d/.test(time.toISOString()))
    throw malformed('recorded_at must be an RFC 3339 date and time')
  return time
}

/** `Date` takes 30 February for 2 March. */
function isDay(date: string): boolean {
  const midnight = new Date(`${date}T00:00:00Z`)
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(date)
}
