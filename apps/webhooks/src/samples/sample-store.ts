import type { Db, Queryable } from '@signet/db'
import { PAYLOAD_TARGET_BYTES } from '@signet/webhook-core'
import { ENRICHMENT_TIMEOUT_MS, recordingReader, type RecordingReader } from '@signet/webhook-core/stores'

/** `maxLength` is in characters, for readers that have no use for more. */
export type SampleLimits = { limit: number; maxLength?: number | undefined }

/**
 * Limit for all samples of one response together, with room for ten events of the target size. Summaries are never cut, so an event can
 * be much larger, and every caller would hold ten of those in memory.
 */
export const SAMPLES_TARGET_BYTES = 16 * PAYLOAD_TARGET_BYTES

/** PostgreSQL's largest integer. No text is that long. */
const MAX_TEXT_LENGTH = 2 ** 31 - 1

/**
 * Returns the newest frozen bodies of an account, for samples (docs/specification.md#samples), each cut after `maxLength` characters.
 * Returns fewer than `limit` if they are huge, but always the newest. Excludes pings.
 */
export async function findRecentBodies(
  db: Queryable,
  accountId: string,
  type: string,
  { limit, maxLength = Infinity }: SampleLimits,
): Promise<string[]> {
  const { rows } = await db.query<{ body: string }>(
    // octet_length does not have to read the text.
    `select case when octet_length(body) > $5 then left(body, $5) else body end as body from (
       select body, created_at, id,
         sum(octet_length(body)) over (order by created_at desc, id desc) - octet_length(body) as bytes_before
       from (
         select body, created_at, id from webhook_events
         where account_id = $1 and type = $2 and state = 'dispatched' and target_endpoint_id is null
         order by created_at desc, id desc limit $3
       ) as newest
     ) as measured
     where bytes_before < $4
     order by created_at desc, id desc`,
    [accountId, type, limit, Math.min(maxLength, SAMPLES_TARGET_BYTES), Math.min(maxLength, MAX_TEXT_LENGTH)],
  )
  return rows.map(({ body }) => body)
}

/** The audio ids of an account's newest recordings that have summaries, for samples. */
export async function findRecentlySummarized(
  db: Queryable,
  accountId: string,
  limit: number,
): Promise<string[]> {
  const { rows } = await db.query<{ audio_id: string }>(
    `select audio_id from summaries
     where account_id = $1 and position = 0
     order by created_at desc, audio_id
     limit $2`,
    [accountId, limit],
  )
  return rows.map(({ audio_id }) => audio_id)
}

/** Reads parts of recordings. Sets the limit in each statement, because statements of this pool may take longer than a part may. */
export const sampleReader = (db: Db): RecordingReader =>
  recordingReader({
    query: (text, values) =>
      db.transaction(async (tx) => {
        await tx.query(`select set_config('statement_timeout', $1, true)`, [String(ENRICHMENT_TIMEOUT_MS)])
        return tx.query(text, values)
      }),
  })
