/** One run of the load. */
export type LoadAsk = {
  to: Target
  bytes: number
  /** What most of the bytes are; the transcript's text by default. */
  content?: Content | undefined
  events: number
  /** Events per second, sent when they are due. If omitted, events are sent as fast as answers come. */
  perSecond?: number | undefined
}

/** `nested HTML` is nested elements in many summaries; `dense HTML` is a page with an element every four characters. */
export type Content = 'transcript' | 'HTML' | 'nested HTML' | 'dense HTML'

/** Where events go: to our ingest, for each of the accounts in turn, or to a peer, for each of its subscriptions in turn. */
export type Target =
  | { url: string; token: string; accounts: readonly string[] }
  | { peer: string; subscriptions: readonly unknown[] }

/** When each event was due, in Unix milliseconds, with its id. */
export type Sent = [eventId: string, at: number][]
export type LoadTell = { sent: Sent }

/** What the raw limit needs to know before it listens. */
export type RawAsk = { databaseUrl: string; receiverUrl: string; ca: string }
export type RawTell = { port: number }
