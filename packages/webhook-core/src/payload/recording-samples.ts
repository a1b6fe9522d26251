import { type Db, type Queryable } from '@signet/db'
import { findRecentlySummarised } from '../stores/recording-store.js'
import { recordingSample } from './body-builder.js'
import { freezeSummaryCompleted } from './envelope.js'
import { ENRICHMENT_TIMEOUT_MS, mirrorReader, readMirror } from './mirror-reader.js'
import { SAMPLES_TARGET_BYTES } from './target-size.js'

/**
 * Samples as JSON text, made from an account's newest recordings with summaries, for accounts whose events are gone or never
 * were (contract E.7). HTML stays HTML, and a part that cannot be read is left out. Fewer than `limit` when they are huge, but
 * always the newest.
 */
export async function recordingSamples(
  db: Db,
  accountId: string,
  limit: number,
  now: Date,
): Promise<string[]> {
  const audioIds = await findRecentlySummarised(db, accountId, limit)
  const samples: string[] = []
  let bytes = 0
  const reader = mirrorReader({ until: (signal) => endedByServer(db, signal) })
  // One after the other: how large the next one is shows when it is there.
  for (const audioId of audioIds) {
    if (bytes >= SAMPLES_TARGET_BYTES) break
    const ref = { accountId, audioId }
    const [parts] = await readMirror([ref], {
      reader,
      timeoutMs: ENRICHMENT_TIMEOUT_MS,
      onFailure: () => undefined,
    })
    if (!parts) continue
    const sample = freezeSummaryCompleted(recordingSample(ref, parts, now))
    samples.push(sample)
    bytes += Buffer.byteLength(sample)
  }
  return samples
}

/** The pool has no limit for statements; with samples the round trips of a transaction do not matter. */
const endedByServer = (db: Db, signal: AbortSignal): Queryable => ({
  query: (text, values) =>
    db.transaction(async (tx) => {
      signal.throwIfAborted()
      await tx.query(`select set_config('statement_timeout', $1, true)`, [String(ENRICHMENT_TIMEOUT_MS)])
      return tx.query(text, values)
    }),
})
