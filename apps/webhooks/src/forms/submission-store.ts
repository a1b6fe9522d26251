import type { Queryable } from '@signet/db'
import type { SealedSecret } from '@signet/webhook-core'

export type SubmissionKey = { sessionHash: Buffer; key: Buffer }

/**
 * Claims a form for one of several simultaneous requests. It can be claimed again only if the first request has not finished within
 * half a minute. Also deletes the results of the session's earlier forms.
 */
export async function claimSubmission(db: Queryable, { sessionHash, key }: SubmissionKey): Promise<boolean> {
  const { rowCount } = await db.query(
    `with over as (
       delete from page_submissions where session_hash = $1 and key <> $2 and claimed_at < clock_timestamp() - interval '5 minutes'
     )
     insert into page_submissions (session_hash, key) values ($1, $2)
     on conflict (session_hash, key) do update set claimed_at = clock_timestamp()
       where page_submissions.done_at is null
         and page_submissions.claimed_at < clock_timestamp() - interval '30 seconds'`,
    [sessionHash, key],
  )
  return rowCount === 1
}

export async function endSubmission(
  db: Queryable,
  { sessionHash, key }: SubmissionKey,
  { keyId, ciphertext }: SealedSecret,
): Promise<void> {
  await db.query(
    `update page_submissions set key_id = $3, ciphertext = $4, done_at = clock_timestamp()
      where session_hash = $1 and key = $2`,
    [sessionHash, key, keyId, ciphertext],
  )
}

/** Releases a form after a failure on our side, so that it can be sent again. */
export async function forgetSubmission(db: Queryable, { sessionHash, key }: SubmissionKey): Promise<void> {
  await db.query('delete from page_submissions where session_hash = $1 and key = $2 and done_at is null', [
    sessionHash,
    key,
  ])
}

export type Submission =
  | { readonly state: 'running' | 'gone' }
  | { readonly state: 'done'; readonly sealed: SealedSecret; readonly ageSeconds: number }

/** Returns the sealed result and its age, if there is one already. `gone`: nobody is processing the form, and it was not processed. */
export async function findSubmission(
  db: Queryable,
  { sessionHash, key }: SubmissionKey,
): Promise<Submission> {
  const { rows } = await db.query<{ key_id: string | null; ciphertext: Buffer | null; age: number | null }>(
    `select key_id, ciphertext, extract(epoch from clock_timestamp() - done_at)::float8 as age
       from page_submissions where session_hash = $1 and key = $2`,
    [sessionHash, key],
  )
  const [row] = rows
  if (row === undefined) return { state: 'gone' }
  const { key_id: keyId, ciphertext, age } = row
  if (keyId === null || ciphertext === null) return { state: 'running' }
  return { state: 'done', sealed: { keyId, ciphertext }, ageSeconds: age ?? 0 }
}
