import { toUser, type AccountRow } from '../users/user-rows.js'
import type { RefreshTokens } from './refresh-token.js'
import type { Aal, AmrEntry, SignedIn, StoredSession } from './session.js'

/** A row of a statement that selects the user's `accountColumn` and {@link STORED_COLUMNS}. */
export type StoredSessionRow = AccountRow & {
  session_id: string
  aal: Aal
  session_created_at: Date
  amr: AmrJson
  refresh_salt: Buffer
  refresh_counter: number
}

/** The column `amr`, newest first. */
export type AmrJson = readonly { method: string; at: string; is_new?: boolean }[]

/** Columns of session `s`. */
export const STORED_COLUMNS =
  's.id as session_id, s.aal, s.created_at as session_created_at, s.amr, s.refresh_salt, s.refresh_counter'

export const toAmr = (json: AmrJson): readonly AmrEntry[] =>
  json.map(({ method, at, is_new: isNew = false }) => ({ method, at: new Date(at), isNew }))

export const toStoredSession = (row: StoredSessionRow): StoredSession =>
  ({
    user: toUser(row),
    session: { id: row.session_id, aal: row.aal, createdAt: row.session_created_at },
    amr: toAmr(row.amr),
    counter: row.refresh_counter,
    salt: row.refresh_salt,
  }) as StoredSession

export const signedIn = (
  tokens: Pick<RefreshTokens, 'of'>,
  { counter, salt, ...shown }: StoredSession,
): SignedIn => ({ ...shown, refreshToken: tokens.of(shown.session.id, counter, salt) })
