import { isForeignKeyViolation } from '@signet/db'

/** The tables whose rows belong to a browser session. */
const TABLES = ['oauth_authorizations', 'page_handovers', 'page_submissions']

/**
 * Whether a row could not be written because its session was renewed or ended since it was found, for instance by a sign-out in another
 * tab.
 */
export const isSessionGone = (error: unknown): boolean =>
  TABLES.some((table) => isForeignKeyViolation(error, `${table}_session_hash_fkey`))
