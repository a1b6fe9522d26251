/**
 * Which users may have sessions, as conditions on row `u`. {@link SessionGate} asks the same of a user who was read, and says why
 * not.
 */

/** Who may sign in. */
export const mayHaveSession = (now: string): string =>
  `u.deleted_at is null and coalesce(u.banned_until <= ${now}, true)`

/** Who may do more with a session than keep an account that is about to be deleted. */
export const mayUseSession = (now: string): string => `${mayHaveSession(now)} and u.deletion_due_at is null`
