import type { Queryable } from '@signet/db'
import { recordingReader, type RecordingRef } from '@signet/webhook-core/stores'

/** The stored parts of recordings, read as they are to build the bodies of events. */
export const findRecordings = (db: Queryable, refs: readonly RecordingRef[]) =>
  recordingReader(db).recording(refs)
export const findTranscripts = (db: Queryable, refs: readonly RecordingRef[]) =>
  recordingReader(db).transcript(refs)
export const findSummaries = (db: Queryable, refs: readonly RecordingRef[]) =>
  recordingReader(db).summaries(refs)
