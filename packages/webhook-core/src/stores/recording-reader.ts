import { isStatementTimeout, isUnavailable, type Queryable } from '@signet/db'
import type { RecordingContent, RecordingPart, RecordingRef } from '../recordings/recording-content.js'
import type { GivenParts } from './given-parts-store.js'
import { findRecordings, findSummaries, findTranscripts } from './recording-store.js'

/** Reads the parts of several recordings, in order. Tests replace it to make one part fail. */
export type RecordingReader = {
  [Part in RecordingPart]: (refs: readonly RecordingRef[]) => Promise<RecordingContent[Part][]>
}

/**
 * Set the `statement_timeout` of this `db` to `ENRICHMENT_TIMEOUT_MS`. Nothing else limits a read: a timer in this process would also
 * count the time that the process itself was busy, connecting or waiting for a connection.
 */
export const recordingReader = (db: Queryable): RecordingReader => ({
  recording: (refs) => findRecordings(db, refs),
  transcript: (refs) => findTranscripts(db, refs),
  summaries: (refs) => findSummaries(db, refs),
})

/** How many milliseconds PostgreSQL may take for one part. */
export const ENRICHMENT_TIMEOUT_MS = 2000

/** After this many consecutive recordings that take too long when read alone, the cause is not a single recording. */
const MAX_SLOW = 2

export type EnrichmentOptions = {
  reader: RecordingReader
  onFailure: (part: RecordingPart, ref: RecordingRef, error: unknown) => void
}

/** `given` contains parts that are known already and are not read. */
type WantedRecording = RecordingRef & { given?: GivenParts }

/**
 * Reads the parts of several recordings. Each part is one query for all recordings. If it fails, each recording is read alone, so that
 * one unreadable recording does not cost the others their part. Parts that still fail are reported and omitted, and so is everything
 * that is left to read if the database cannot be reached (`isUnavailable`).
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

/** Returns one part of each recording, and reads it if it was not given. */
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
    return await options.reader[part](refs)
  } catch (error) {
    if (refs.length === 1 || isUnavailable(error)) return omit(part, refs, error, options)
    return readOneByOne(part, refs, { ...options, maxSlow: isStatementTimeout(error) ? MAX_SLOW : Infinity })
  }
}

/** Reads recordings one after the other: a database that could not answer in time must not get more work at the same time. */
async function readOneByOne<Part extends RecordingPart>(
  part: Part,
  refs: readonly RecordingRef[],
  options: EnrichmentOptions & { maxSlow: number },
): Promise<(RecordingContent[Part] | undefined)[]> {
  const read: (RecordingContent[Part] | undefined)[] = []
  let slow = 0
  for (const [i, ref] of refs.entries()) {
    try {
      read.push(...(await options.reader[part]([ref])))
      slow = 0
    } catch (error) {
      slow = isStatementTimeout(error) ? slow + 1 : 0
      if (isUnavailable(error) || slow === options.maxSlow)
        return [...read, ...omit(part, refs.slice(i), error, options)]
      read.push(...omit(part, [ref], error, options))
    }
  }
  return read
}

function omit(
  part: RecordingPart,
  refs: readonly RecordingRef[],
  error: unknown,
  { onFailure }: EnrichmentOptions,
): undefined[] {
  return refs.map((ref) => void onFailure(part, ref, error))
}
