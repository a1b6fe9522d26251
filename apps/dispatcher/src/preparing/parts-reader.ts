import { Batches, isUnavailable, type Db, type Queryable } from '@signet/db'
import type { EventId } from '@signet/webhook-core'
import {
  findGivenParts,
  readRecordings,
  recordingReader,
  type RecordingContent,
  type RecordingReader,
  type RecordingRef,
} from '@signet/webhook-core/stores'
import { BATCH_BYTES, BatchSize } from '../batching/batch-size.js'
import type { RetryWhileUnavailable } from '../database/retry-while-unavailable.js'
import { rerunAfterPauses } from '../database/rerun-after-pauses.js'
import { findSummaryBytes } from './size-store.js'

/** A part missing from a payload. Never contains text of the recording. */
export type PartProblem = { part: keyof RecordingReader; ref: RecordingRef; error: unknown }

export type PartsReaderDeps = {
  /** Reads only recordings. Its `statement_timeout` should be `ENRICHMENT_TIMEOUT_MS`. */
  db: Queryable
  /** Reads what came with the notices. These are stored with the events, and have the same time limit. */
  events: Queryable & Pick<Db, 'ping'>
  retryWhileUnavailable: RetryWhileUnavailable
  onProblem: (problem: PartProblem) => void
  /** Tests replace it. */
  reader?: RecordingReader
}

const LINGER_MS = 2
/** At one a second, about a minute: a failover behind a pooler takes less. */
const MAX_RETRIES = 60

/** `givenTo`: the event whose notice brought some of the parts. They are not read from the recording. */
type PartsOf = RecordingRef & { givenTo?: EventId | undefined }
type Wanted = PartsOf & { bytes?: number | undefined }

/**
 * Reads the parts of events: what came with their notices, and the rest from their recordings. It reads in batches in which accounts
 * take turns, with separate batches for large events. Parts of a recording that cannot be read are reported and left out.
 */
export class PartsReader {
  readonly #sizes: Batches<RecordingRef, number>
  readonly #small: Batches<Wanted, RecordingContent>
  readonly #large: Batches<Wanted, RecordingContent>
  readonly #db: Queryable
  readonly #reader: RecordingReader
  readonly #size = new BatchSize()

  constructor(private readonly deps: PartsReaderDeps) {
    this.#db = rerunAfterPauses(deps.db)
    this.#reader = deps.reader ?? recordingReader(this.#db)
    const byAccountInTurn = {
      send: (wanted: readonly Wanted[]) => this.#readAll(wanted),
      shareOf: ({ accountId }: RecordingRef) => accountId,
      slowMs: Infinity,
    }
    this.#sizes = new Batches({
      ...byAccountInTurn,
      send: (refs: readonly RecordingRef[]) => this.#measureAll(refs),
      lingerMs: LINGER_MS,
      underWay: 2,
    })
    this.#small = new Batches({
      ...byAccountInTurn,
      maxItems: () => this.#size.maxItems,
      lingerMs: LINGER_MS,
      // While one batch waits for its slowest part, which may be until its time limit, another one is read.
      underWay: 2,
    })
    this.#large = new Batches({
      ...byAccountInTurn,
      bytesOf: ({ bytes = 0 }) => bytes,
      maxBytes: BATCH_BYTES,
      underWay: 1,
    })
  }

  /**
   * Roughly how many bytes there are to read, counting only parts without a size limit of their own. A notice may name a recording
   * without its content, so only the tables know.
   */
  measure(ref: RecordingRef): Promise<number> {
    return this.#sizes.add(ref)
  }

  /** `bytes`: about how large the event is, if it is large. */
  read(parts: PartsOf, bytes?: number): Promise<RecordingContent> {
    return (bytes === undefined ? this.#small : this.#large).add({ ...parts, bytes })
  }

  /** If PostgreSQL cannot give the sizes in time, it cannot give the parts either. */
  #measureAll(refs: readonly RecordingRef[]): Promise<number[]> {
    return this.#retryWhileUnavailable(async (isLast) => {
      try {
        return await findSummaryBytes(this.#db, refs)
      } catch (error) {
        if (isUnavailable(error) && !isLast) throw error
        return refs.map(() => 0)
      }
    })
  }

  #readAll(wanted: readonly Wanted[]): Promise<RecordingContent[]> {
    const { events, onProblem } = this.deps
    const ids = wanted.flatMap(({ givenTo }) => givenTo ?? [])
    return this.#retryWhileUnavailable(async (isLast) => {
      const given = ids.length === 0 ? undefined : await findGivenParts(events, ids)
      const problems: PartProblem[] = []
      const recordings = wanted.map(({ accountId, audioId, givenTo }) => ({
        accountId,
        audioId,
        given: givenTo && given?.get(givenTo),
      }))
      const contents = await readRecordings(recordings, {
        reader: this.#reader,
        onFailure: (part, { accountId, audioId }, error) =>
          problems.push({ part, ref: { accountId, audioId }, error }),
      })
      const outage = problems.find(({ error }) => isUnavailable(error))
      if (outage && !isLast) throw outage.error
      problems.forEach(onProblem)
      this.#size.learn(contents.filter((_, i) => wanted[i]?.bytes === undefined).map(sizeOf))
      return contents
    })
  }

  /**
   * A part that is not read is missing for good, so `work` starts over when its connections fail. While the whole database is away,
   * nothing else can be done with the events either. If only these connections fail, `isLast` says when to do without the parts.
   */
  #retryWhileUnavailable<T>(work: (isLast: boolean) => Promise<T>): Promise<T> {
    const { events, retryWhileUnavailable } = this.deps
    let retries = 0
    return retryWhileUnavailable(async () => {
      try {
        return await work(retries >= MAX_RETRIES)
      } catch (error) {
        if (isUnavailable(error) && (await isWorking(events))) retries += 1
        throw error
      }
    })
  }
}

const isWorking = (db: Pick<Db, 'ping'>): Promise<boolean> =>
  db.ping().then(
    () => true,
    () => false,
  )

/** In bytes. Approximate: the segments repeat the transcript's text. */
const sizeOf = ({ transcript, summaries }: RecordingContent): number =>
  (transcript?.text.length ?? 0) * (transcript?.segments ? 3 : 1) +
  summaries.reduce((sum, { content }) => sum + content.length, 0)
