import type { Queryable } from '@signet/db'
import type { SealedSecret } from '@signet/webhook-core'

/** Also deletes what the session has left unopened for too long. */
export async function insertHandover(
  db: Queryable,
  { id, sessionHash, sealed }: { id: string; sessionHash: Buffer; sealed: SealedSecret },
): Promise<void> {
  await db.query(
    `with over as (delete from page_handovers where session_hash = $2 and expires_at < now())
     insert into page_handovers (id, session_hash, key_id, ciphertext) values ($1, $2, $3, $4)`,
    [id, sessionHash, sealed.keyId, sealed.ciphertext],
  )
}

/** Returns a handover once, and only to the session that created it. */
export async function takeHandover(
  db: Queryable,
  { id, sessionHash }: { id: string; sessionHash: Buffer },
): Promise<SealedSecret | null> {
  const { rows } = await db.query<{ key_id: string; ciphertext: Buffer; is_live: boolean }>(
    `delete from page_handovers where id = $1 and session_hash = $2
     returning key_id, ciphertext, expires_at > now() as is_live`,
    [id, sessionHash],
  )
  const [row] = rows
  return row?.is_live ? { keyId: row.key_id, ciphertext: row.ciphertext } : null
}
