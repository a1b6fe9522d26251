import { type Db } from '@signet/db'
import {
  findRecordings,
  findSummaries,
  findTranscripts,
  type RecordingFields,
  type RecordingRef,
  type SummaryFields,
  type TranscriptFields,
} from '../stores/recording-store.js'

/** The three parts of a payload that come from the mirror; each is read, and fails, by itself. */
export type MirrorPart = 'recording' | 'transcript' | 'summaries'

export type MirrorParts = {
  recording: RecordingFields | null
  transcript: TranscriptFields | null
  summaries: SummaryFields[]
}

/**
 * Reads the parts of several recordings, in the order asked; nobody waits any more once the signal is aborted. Replaced in
 * tests to make one of them fail.
 */
export type MirrorReader = {
  [Part in MirrorPart]: (refs: readonly RecordingRef[], signal: AbortSignal) => Promise<MirrorParts[Part][]>
}

/** The server should end the statements of this `db` after the same time: who gave up cannot end what was sent. */
export const mirrorReader = (db: Pick<Db, 'until'>): MirrorReader => ({
  recording: (refs, signal) => findRecordings(db.until(signal), refs),
  transcript: (refs, signal) => findTranscripts(db.until(signal), refs),
  summaries: (refs, signal) => findSummaries(db.until(signal), refs),
})

/** For reading one part (contract F.2). */
export const ENRICHMENT_TIMEOUT_MS = 2000

export type EnrichmentOptions = {
  reader: MirrorReader
  timeoutMs: number
  onFailure: (part: MirrorPart, ref: RecordingRef, error: unknown) => void
}

/**
 * The mirror parts of several recordings. Each part is one query for all of them; should it fail, every recording is asked for
 * alone, so that one that cannot be read costs no other its part. What fails even then is reported and left out.
 */
export async function readMirror(
  refs: readonly RecordingRef[],
  options: EnrichmentOptions,
): Promise<MirrorParts[]> {
  const [recordings, transcripts, summaries] = await Promise.all([
    readPart('recording', refs, options),
    readPart('transcript', refs, options),
    readPart('summaries', refs, options),
  ])
  return refs.map((_, i) => ({
    recording: recordings[i] ?? null,
    transcript: transcripts[i] ?? null,
    summaries: summaries[i] ?? [],
  }))
}

async function readPart<Part extends MirrorPart>(
  part: Part,
  refs: readonly RecordingRef[],
  options: EnrichmentOptions,
): Promise<(MirrorParts[Part] | undefined)[]> {
  if (refs.length === 0) return []
  try {
    return await inTime((signal) => options.reader[part](refs, signal), options.timeoutMs)
  } catch (error) {
    const [only, ...others] = refs
    if (only && others.length === 0) {
      options.onFailure(part, only, error)
      return [undefined]
    }
    const alone = await Promise.all(refs.map((ref) => readPart(part, [ref], options)))
    return alone.flat()
  }
}

async function inTime<T>(work: (signal: AbortSignal) => Promise<T>, timeoutMs: number): Promise<T> {
  const over = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new Error(`not read in ${timeoutMs} ms`)
      over.abort(error)
      reject(error)
    }, timeoutMs)
  })
  try {
    return await Promise.race([work(over.signal), limit])
  } finally {
    clearTimeout(timer)
  }
}
