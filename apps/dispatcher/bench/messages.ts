export type ReceiverAsk =
  | { kind: 'listen'; key: string; cert: string }
  /** Starts noting when each event arrives. */
  | { kind: 'note' }
  /** Asks for the count. With `arrivals`, also asks for what was noted, and ends the noting. */
  | { kind: 'ask'; arrivals: boolean }

export type ReceiverTell =
  | { kind: 'listening'; port: number }
  /** The number of answers with 200 so far, and the arrivals if they were asked for. */
  | { kind: 'count'; count: number; arrivals: [eventId: string, at: number][] }

/** What each of the two comparisons has to send. */
export type SendAsk = { urls: string[]; bytes: number; posts: number; ca: string; redisUrl: string }
export type SendTell = { perSecond: number }
