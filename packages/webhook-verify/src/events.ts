import type { EventData } from './event-data.js'

/** The members of every event. De-duplicate by `id`: delivery is at least once. */
export type EventEnvelope<Type extends string, Data> = {
  id: string
  type: Type
  /** When the event was generated, in ISO 8601 format, UTC. */
  created_at: string
  data: Data
}

/**
 * The event types known today, so that comparing `type` narrows `data`. With a type as argument, the events of that type. New types may
 * arrive at any time: answer them with 2xx in a `default` branch, otherwise they count as failures.
 */
export type WebhookEvent<Type extends keyof EventData = keyof EventData> = {
  [Each in Type]: EventEnvelope<Each, EventData[Each]>
}[Type]

// Short names from the first release. Later types have none: use `WebhookEvent<'their.type'>`.
export type SummaryCompletedEvent = WebhookEvent<'summary.completed'>
export type SummaryCompletedData = SummaryCompletedEvent['data']
export type Transcript = NonNullable<SummaryCompletedData['transcript']>
export type TranscriptSegment = NonNullable<Transcript['segments']>[number]
export type Summary = NonNullable<SummaryCompletedData['summaries']>[number]
export type WebhookPingEvent = WebhookEvent<'webhook.ping'>

/** An event whose type is newer than this library. In the `default` of a switch: `const other: UnknownEvent = event`. */
export type UnknownEvent = EventEnvelope<string, Record<string, unknown>>
