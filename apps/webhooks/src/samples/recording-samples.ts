import type { Db } from '@signet/db'
import type { EventDefinition } from '@signet/webhook-core'
import { readRecordings } from '@signet/webhook-core/stores'
import {
  findRecentlySummarized,
  sampleReader,
  SAMPLES_TARGET_BYTES,
  type SampleLimits,
} from './sample-store.js'

/**
 * Builds samples as JSON text from an account's newest recordings with summaries, for accounts without stored events
 * (docs/specification.md#samples). Does not convert HTML, and omits unreadable parts. Returns fewer than `limit` samples if they are
 * huge, but always the newest.
 */
export async function recordingSamples(
  db: Db,
  definition: Extract<EventDefinition, { subject: 'recording' }>,
  { accountId, limit, maxLength = Infinity, now }: SampleLimits & { accountId: string; now: Date },
): Promise<string[]> {
  const audioIds = await findRecentlySummarized(db, accountId, limit)
  const samples: string[] = []
  let bytes = 0
  const reader = sampleReader(db)
  // Reads one at a time, because the size of the next one is unknown until it is read.
  for (const audioId of audioIds) {
    if (bytes >= Math.min(maxLength, SAMPLES_TARGET_BYTES)) break
    const ref = { accountId, audioId }
    const [content] = await readRecordings([ref], {
      reader,
      onFailure: () => undefined,
    })
    if (!content) continue
    const sample = definition.build({ id: `evt_sample_${audioId}`, createdAt: now }, { audioId, ...content })
    samples.push(sample.slice(0, maxLength))
    bytes += Buffer.byteLength(sample)
  }
  return samples
}
