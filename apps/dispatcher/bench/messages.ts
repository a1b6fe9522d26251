export type ReceiverAsk =
  | { kind: 'listen'; key: string; cert: string }
  /** Whether to note the time at which each event arrives. */
  | { kind: 'note'; on: boolean }
  | { kind: 'ask' }

export type ReceiverTell =
  | { kind: 'listening'; port: number }
  /** Answers with 200 so far, and the arrivals noted since the last question. */
  | { kind: 'count'; count: number; arrivals: [eventId: string, at: number][] }

/** What the two comparisons are asked to send. */
export type SendAsk = { urls: string[]; bytes: number; posts: number; ca: string; redisUrl: string }
export type SendTell = { perSecond: number }
