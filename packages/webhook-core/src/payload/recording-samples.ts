import { type Queryable } from '@signet/db'
import { findRecentlySummarised } from '../stores/recording-store.js'
import { recordingSample } from './body-builder.js'
import { freezeSummaryCompleted } from './envelope.js'
import { mirrorReader, readMirror } from './mirror-reader.js'
import { SAMPLES_TARGET_BYTES } from './target-size.js'

const TIMEOUT_MS = 2000

/**
 * Samples as JSON text, made from an account's newest recordings with summaries, for accounts whose events are gone or never
 * were (contract E.7). HTML stays HTML, and a part that cannot be read is left out. Fewer than `limit` when they are huge, but
 * always the newest.
 */
export async function recordingSamples(
  db: Queryable,
  accountId: string,
  limit: number,
  now: Date,
): Promise<string[]> {
  const audioIds = await findRecentlySummarised(db, accountId, limit)
  const samples: string[] = []
  let bytes = 0
  // One after the other: how large the next one is shows when it is there.
  for (const audioId of audioIds) {
    if (bytes >= SAMPLES_TARGET_BYTES) break
    const ref = { accountId, audioId }
    const [parts] = await readMirror([ref], {
      reader: mirrorReader(db),
      timeoutMs: TIMEOUT_MS,
      onFailure: () => undefined,
    })
    if (!parts) continue
    const sample = freezeSummaryCompleted(recordingSample(ref, parts, now))
    samples.push(sample)
    bytes += Buffer.byteLength(sample)
  }
  return samples
}
