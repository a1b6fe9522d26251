import type { EventData } from './event-data.js'

/** What every event has. De-duplicate on `id`: delivery is at least once. */
export type EventEnvelope<Type extends string, Data> = {
  id: string
  type: Type
  /** ISO 8601, UTC: when the event was generated. */
  created_at: string
  data: Data
}

/**
 * The types known today, so that comparing `type` narrows `data`; with a type as argument, the events of that type. New types may
 * arrive at any time: answer them 2xx in a `default` branch, or they count as failures.
 */
export type WebhookEvent<Type extends keyof EventData = keyof EventData> = {
  [Each in Type]: EventEnvelope<Each, EventData[Each]>
}[Type]

// Short names from the first release. Types that came later have none: `WebhookEvent<'their.type'>`.
export type SummaryCompletedEvent = WebhookEvent<'summary.completed'>
export type SummaryCompletedData = SummaryCompletedEvent['data']
export type Transcript = NonNullable<SummaryCompletedData['transcript']>
export type TranscriptSegment = NonNullable<Transcript['segments']>[number]
export type Summary = NonNullable<SummaryCompletedData['summaries']>[number]
export type WebhookPingEvent = WebhookEvent<'webhook.ping'>

/** An event of a type newer than this library. In the `default` of a switch: `const other: UnknownEvent = event`. */
export type UnknownEvent = EventEnvelope<string, Record<string, unknown>>
