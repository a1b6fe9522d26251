import type { Queryable } from '@signet/db'
import { recordingReader, type RecordingRef } from '@signet/webhook-core/stores'

const readerOf = (db: Queryable) => recordingReader({ until: () => db })
const inTime = new AbortController().signal

/** What is stored of recordings, as the bodies of events are built from it. */
export const findRecordings = (db: Queryable, refs: readonly RecordingRef[]) =>
  readerOf(db).recording(refs, inTime)
export const findTranscripts = (db: Queryable, refs: readonly RecordingRef[]) =>
  readerOf(db).transcript(refs, inTime)
export const findSummaries = (db: Queryable, refs: readonly RecordingRef[]) =>
  readerOf(db).summaries(refs, inTime)
