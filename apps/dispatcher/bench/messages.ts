export type ReceiverAsk =
  | { kind: 'listen'; key: string; cert: string }
  /** From now on the time at which each event arrives is noted. */
  | { kind: 'note' }
  /** With the arrivals, which ends the noting. */
  | { kind: 'ask'; arrivals: boolean }

export type ReceiverTell =
  | { kind: 'listening'; port: number }
  /** Answers with 200 so far, and the arrivals if they were asked for. */
  | { kind: 'count'; count: number; arrivals: [eventId: string, at: number][] }

/** What the two comparisons are asked to send. */
export type SendAsk = { urls: string[]; bytes: number; posts: number; ca: string; redisUrl: string }
export type SendTell = { perSecond: number }
