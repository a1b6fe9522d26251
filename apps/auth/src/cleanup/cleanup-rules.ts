import type { CleanupRule } from './cleanup-store.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/**
 * Matches users who signed up or were invited, and never confirmed. It does not match those made by an administrator, who were sent no
 * message.
 */
const NEVER_CONFIRMED =
  'confirmed_at is null and last_sign_in_at is null and deleted_at is null and confirmation_sent_at < $1'

export type CleanupAges = {
  /** Longer than access tokens live: deleting a session invalidates its access tokens. */
  endedSessionMs: number
  anonymousUsers: boolean
  /** Wrong passwords are forgotten after this long. */
  guessesMs: number
  /** How long a network is remembered after the last sign-in from it. */
  knownNetworkMs: number
  /** The longest interval that is kept between two messages. */
  intervalMs: number
  /** Undefined keeps them forever. */
  auditMs: number | undefined
  unconfirmedUserMs: number | undefined
}

/** What is old enough to be deleted (docs/specification.md#ages-of-clean-up has a row for each). */
export function cleanupRulesAt(now: Date, ages: CleanupAges): CleanupRule[] {
  const ago = (ms: number) => new Date(now.getTime() - ms)
  return [
    { table: 'sessions', condition: 'not_after < $1', olderThan: ago(3 * DAY_MS) },
    // Only ended sessions: one that can still be refreshed must stay, so that its old tokens are recognized as reused.
    { table: 'sessions', condition: 'revoked_at < $1', olderThan: ago(ages.endedSessionMs) },
    {
      table: 'messageRequests',
      condition: 'asked_at < $1',
      olderThan: ago(Math.max(DAY_MS, ages.intervalMs)),
    },
    { table: 'signInAttempts', condition: 'last_at < $1', olderThan: ago(ages.guessesMs) },
    { table: 'knownNetworks', condition: 'last_seen_at < $1', olderThan: ago(ages.knownNetworkMs) },
    { table: 'codeAttempts', condition: 'window_ends_at < $1', olderThan: ago(0) },
    // Kept for a day after they expire, because clocks differ.
    { table: 'webauthnSpentChallenges', condition: 'expires_at < $1', olderThan: ago(DAY_MS) },
    { table: 'flowState', condition: 'created_at < $1', olderThan: ago(DAY_MS) },
    { table: 'mfaChallenges', condition: 'created_at < $1', olderThan: ago(DAY_MS) },
    {
      table: 'mfaFactors',
      condition: "status = 'unverified' and created_at < $1",
      olderThan: ago(DAY_MS),
    },
    ...(ages.auditMs === undefined
      ? []
      : [
          {
            table: 'auditLogEntries',
            condition: 'created_at < $1',
            olderThan: ago(ages.auditMs),
          } as const,
        ]),
    ...(ages.unconfirmedUserMs === undefined
      ? []
      : [
          {
            table: 'users',
            condition: NEVER_CONFIRMED,
            olderThan: ago(ages.unconfirmedUserMs),
          } as const,
          {
            table: 'pendingSignUps',
            condition: "origin = 'self' and created_at < $1",
            olderThan: ago(ages.unconfirmedUserMs),
          } as const,
          // Kept as long as sign-ups with new addresses, so that nobody can tell the two apart.
          {
            table: 'repeatedSignUps',
            condition: 'created_at < $1',
            olderThan: ago(ages.unconfirmedUserMs),
          } as const,
        ]),
    ...(ages.anonymousUsers
      ? [
          {
            table: 'users',
            condition: 'is_anonymous and created_at < $1',
            olderThan: ago(30 * DAY_MS),
          } as const,
        ]
      : []),
  ]
}
