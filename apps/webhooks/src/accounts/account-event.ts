/** An event about an account at the identity server. Times are ISO 8601, with their original precision. */
export type AccountEvent = { accountId: string; decidedAt: string } & (
  | { type: 'user.banned'; bannedUntil: string }
  | { type: 'user.sessions_ended'; sessionIds: readonly string[] }
  | { type: 'user.unbanned' | 'user.signed_out' | 'user.deleted' }
)
