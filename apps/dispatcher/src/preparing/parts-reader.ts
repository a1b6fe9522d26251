import { isUnavailable, type Db } from '@signet/db'
import {
  ENRICHMENT_TIMEOUT_MS,
  readRecordings,
  recordingReader,
  type RecordingContent,
  type RecordingPart,
  type RecordingReader,
  type RecordingRef,
} from '@signet/webhook-core/stores'
import { PAYLOAD_TARGET_BYTES } from '@signet/webhook-core'
import { Batcher } from '../batching/batcher.js'
import type { RetryWhileUnavailable } from '../database/retry-while-unavailable.js'

/** A part missing from a payload. Never contains text of the recording. */
export type PartProblem = { part: RecordingPart; ref: RecordingRef; error: unknown }

export type PartsReaderDeps = {
  /** Reads only recordings. Its `statement_timeout` should also be `ENRICHMENT_TIMEOUT_MS`. */
  db: Pick<Db, 'until'>
  retryWhileUnavailable: RetryWhileUnavailable
  onProblem: (problem: PartProblem) => void
  /** Tests replace these. */
  reader?: RecordingReader
  timeoutMs?: number
}

const MAX_BATCH = 64
/** Target size of a batch: its first event waits until the parts of the last one are read. */
const BATCH_BYTES = 4 * 1024 * 1024
const LINGER_MS = 2
/** While one batch waits for its slowest part, which may be until its time limit, another one is read. */
const PARALLEL = 2

/** Reads the parts of recordings in batches in which accounts take turns. What cannot be read is reported and left out. */
export class PartsReader {
  readonly #batcher: Batcher<RecordingRef, RecordingContent>
  readonly #reader: RecordingReader
  /** Mean size of a recording in the latest batch. Starts high, for a process that ran out of memory and starts again. */
  #meanBytes = PAYLOAD_TARGET_BYTES

  constructor(private readonly deps: PartsReaderDeps) {
    this.#reader = deps.reader ?? recordingReader(deps.db)
    this.#batcher = new Batcher({
      run: (refs) => this.#readAll(refs),
      maxItems: () => Math.min(MAX_BATCH, Math.max(1, Math.floor(BATCH_BYTES / this.#meanBytes))),
      keyOf: ({ accountId }) => accountId,
      lingerMs: LINGER_MS,
      parallel: PARALLEL,
    })
  }

  read(ref: RecordingRef): Promise<RecordingContent> {
    return this.#batcher.submit(ref)
  }

  /**
   * A part that cannot be read is missing for good, so an outage of the whole database must not count as one: reading starts
   * over when the database is back.
   */
  async #readAll(refs: readonly RecordingRef[]): Promise<RecordingContent[]> {
    const { retryWhileUnavailable, onProblem, timeoutMs = ENRICHMENT_TIMEOUT_MS } = this.deps
    return retryWhileUnavailable(async () => {
      const problems: PartProblem[] = []
      const contents = await readRecordings(refs, {
        reader: this.#reader,
        timeoutMs,
        onFailure: (part, ref, error) => problems.push({ part, ref, error }),
      })
      const outage = problems.find(({ error }) => isUnavailable(error))
      if (outage) throw outage.error
      problems.forEach(onProblem)
      this.#meanBytes = Math.max(1, contents.reduce((sum, one) => sum + sizeOf(one), 0) / contents.length)
      return contents
    })
  }
}

/** About: segments repeat the transcript's text. */
const sizeOf = ({ transcript, summaries }: RecordingContent): number =>
  (transcript?.text.length ?? 0) * (transcript?.segments ? 3 : 1) +
  summaries.reduce((sum, { content }) => sum + content.length, 0)
