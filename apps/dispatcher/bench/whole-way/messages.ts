/** One run of the load. */
export type LoadAsk = {
  to: Target
  bytes: number
  /** What most of the bytes are; by default the text of the transcript. */
  content?: Content | undefined
  events: number
  /** Events a second, sent when they are due; as fast as answers come when left out. */
  perSecond?: number | undefined
}

/** `nested HTML` is that of many summaries, `dense HTML` a page of which every fourth character is an element. */
export type Content = 'transcript' | 'HTML' | 'nested HTML' | 'dense HTML'

/** Where events go: to an ingest of ours, for the accounts in turn, or to a peer, for what it has subscribed, in turn. */
export type Target =
  | { url: string; token: string; accounts: readonly string[] }
  | { peer: string; subscriptions: readonly unknown[] }

/** When each event was due, by its id, in Unix milliseconds. */
export type Sent = [eventId: string, at: number][]
export type LoadTell = { sent: Sent }

/** What the raw limit needs to know before it listens. */
export type RawAsk = { databaseUrl: string; receiverUrl: string; ca: string }
export type RawTell = { port: number }
