/** What every event has, whatever its type. De-duplicate on `id`: delivery is at least once. */
export type EventEnvelope<Type extends string, Data> = {
  id: string
  type: Type
  /** ISO 8601, UTC: when the event was generated. */
  created_at: string
  data: Data
}

export type TranscriptSegment = {
  speaker: string
  /** Seconds from the start of the recording. */
  start: number
  end: number
  text: string
}

export type Transcript = {
  language?: string
  text: string
  /** True when the text was cut to keep the payload near 1 MiB. */
  truncated: boolean
  segments?: TranscriptSegment[]
}

export type Summary = {
  label: string
  /** Untrusted user content: escape or sanitise before showing it. */
  content: string
  /** `markdown` or `html` today; tolerate other values. */
  format: string
  template_name?: string
}

/** Only `audio_id` is promised; everything else may be missing. */
export type SummaryCompletedData = {
  audio_id: string
  report_id?: string
  status?: number
  title?: string
  duration_ms?: number
  recorded_at?: string
  transcript?: Transcript
  summaries?: Summary[]
}

export type SummaryCompletedEvent = EventEnvelope<'summary.completed', SummaryCompletedData>
export type WebhookPingEvent = EventEnvelope<'webhook.ping', { endpoint_id: string; message: string }>

/** An event of a type newer than this library. In the `default` of a switch: `const other: UnknownEvent = event`. */
export type UnknownEvent = EventEnvelope<string, Record<string, unknown>>

/**
 * The types known today, so that comparing `type` narrows `data`. New types may arrive at any time: answer them 2xx in
 * a `default` branch, or they count as failures.
 */
export type WebhookEvent = SummaryCompletedEvent | WebhookPingEvent
