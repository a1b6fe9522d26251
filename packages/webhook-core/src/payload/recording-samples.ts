import { type Queryable } from '@signet/db'
import { findRecentlySummarised } from '../stores/recording-store.js'
import { recordingSample } from './body-builder.js'
import { type SummaryCompleted } from './envelope.js'
import { mirrorReader, readMirror } from './mirror-reader.js'

const TIMEOUT_MS = 2000

/**
 * Samples made from an account's newest recordings with summaries, for accounts whose events are gone or never were
 * (contract E.7). HTML stays HTML, and a part that cannot be read is left out.
 */
export async function recordingSamples(
  db: Queryable,
  accountId: string,
  limit: number,
  now: Date,
): Promise<SummaryCompleted[]> {
  const audioIds = await findRecentlySummarised(db, accountId, limit)
  const refs = audioIds.map((audioId) => ({ accountId, audioId }))
  const parts = await readMirror(refs, {
    reader: mirrorReader(db),
    timeoutMs: TIMEOUT_MS,
    onFailure: () => undefined,
  })
  return refs.flatMap((ref, i) => {
    const part = parts[i]
    return part ? [recordingSample(ref, part, now)] : []
  })
}
