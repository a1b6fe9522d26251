/** One run of the load: notices to `url`, for the accounts in turn. */
export type LoadAsk = {
  url: string
  token: string
  accounts: readonly string[]
  bytes: number
  events: number
  /** Notices a second, sent when they are due; as fast as answers come when left out. */
  perSecond?: number
}

/** When each event was due, by its id, in Unix milliseconds. */
export type LoadTell = { sent: [eventId: string, at: number][] }

/** What the raw limit needs to know before it listens. */
export type RawAsk = { databaseUrl: string; receiverUrl: string; ca: string }
export type RawTell = { port: number }
