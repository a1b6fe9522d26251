import type { RecordingFields, SummaryFields, TranscriptFields } from '@signet/webhook-core/stores'
import { storable } from '../text/storable.js'
import type { RecordingParts } from './encoded-parts.js'

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

/** The parts of a body that matches its schema. Null members count as omitted. */
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

/** Replaces characters that PostgreSQL cannot store, so that what is stored and what is sent are the same. */
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
  recordedAt: body.recorded_at == null ? undefined : new Date(body.recorded_at),
})

const transcriptOf = ({ language, text, segments }: TranscriptBody): TranscriptFields => ({
  language: optional(language),
  text: storable(text),
  segments: segments?.map(segmentOf) ?? undefined,
})

type Segment = NonNullable<TranscriptFields['segments']>[number]

/** Puts members into the documented order, in which they are stored and sent. */
const segmentOf = ({ speaker, start, end, text }: Segment): Segment => ({
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
