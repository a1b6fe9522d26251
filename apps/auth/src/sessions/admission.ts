/**
 * Conditions on row `u` that say which users may have sessions. {@link SessionGate} checks the same for a user that was read already, and
 * says why one is refused.
 */

/** The user may sign in. */
export const mayHaveSession = (now: string): string =>
  `u.deleted_at is null and coalesce(u.banned_until <= ${now}, true)`

/** The user may do more with a session than keep an account that is about to be deleted. */
export const mayUseSession = (now: string): string => `${mayHaveSession(now)} and u.deletion_due_at is null`
