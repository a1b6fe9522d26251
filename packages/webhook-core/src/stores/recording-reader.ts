import pTimeout from 'p-timeout'
import type { Db } from '@signet/db'
import type { RecordingContent, RecordingPart, RecordingRef } from '../recordings/recording-content.js'
import type { GivenParts } from './given-parts-store.js'
import { findRecordings, findSummaries, findTranscripts } from './recording-store.js'

/**
 * Reads the parts of several recordings, in order. Once the signal is aborted, the result is ignored. Tests replace it
 * to make one part fail.
 */
export type RecordingReader = {
  [Part in RecordingPart]: (
    refs: readonly RecordingRef[],
    signal: AbortSignal,
  ) => Promise<RecordingContent[Part][]>
}

/** Set the `statement_timeout` of this `db` to the same time: a caller that stops waiting cannot end a statement. */
// oxlint-disable-next-line signet/account-in-stores -- each reference names the account
export const recordingReader = (db: Pick<Db, 'until'>): RecordingReader => ({
  recording: (refs, signal) => findRecordings(db.until(signal), refs),
  transcript: (refs, signal) => findTranscripts(db.until(signal), refs),
  summaries: (refs, signal) => findSummaries(db.until(signal), refs),
})

/** Time limit for reading one part. */
export const ENRICHMENT_TIMEOUT_MS = 2000

export type EnrichmentOptions = {
  reader: RecordingReader
  timeoutMs: number
  onFailure: (part: RecordingPart, ref: RecordingRef, error: unknown) => void
}

/** `given`: parts that are known already and not read. */
type WantedRecording = RecordingRef & { given?: GivenParts }

/**
 * The parts of several recordings. Each part is one query for all of them. If it fails, each recording is read on its own, so
 * that one unreadable recording does not cost the others their part. What still fails is reported and omitted.
 */
export async function readRecordings(
  wanted: readonly WantedRecording[],
  options: EnrichmentOptions,
): Promise<RecordingContent[]> {
  const [recordings, transcripts, summaries] = await Promise.all([
    readLeftOut('recording', wanted, options),
    readLeftOut('transcript', wanted, options),
    readLeftOut('summaries', wanted, options),
  ])
  return wanted.map((one) => ({
    recording: recordings.get(one) ?? null,
    transcript: transcripts.get(one) ?? null,
    summaries: summaries.get(one) ?? [],
  }))
}

/** A part of each recording, read where it was not given. */
async function readLeftOut<Part extends RecordingPart>(
  part: Part,
  wanted: readonly WantedRecording[],
  options: EnrichmentOptions,
): Promise<ReadonlyMap<WantedRecording, RecordingContent[Part] | undefined>> {
  const leftOut = wanted.filter(({ given }) => given?.[part] === undefined)
  const read = await readPart(part, leftOut, options)
  return new Map([
    ...wanted.map((one) => [one, one.given?.[part]] as const),
    ...leftOut.map((one, i) => [one, read[i]] as const),
  ])
}

async function readPart<Part extends RecordingPart>(
  part: Part,
  refs: readonly RecordingRef[],
  options: EnrichmentOptions,
): Promise<(RecordingContent[Part] | undefined)[]> {
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

function inTime<T>(work: (signal: AbortSignal) => Promise<T>, timeoutMs: number): Promise<T> {
  const over = new AbortController()
  return pTimeout(work(over.signal), {
    milliseconds: timeoutMs,
    fallback: () => {
      const error = new Error(`not read in ${timeoutMs} ms`)
      over.abort(error)
      throw error
    },
  })
}
