import type { Queryable } from '@signet/db'
import { recordingReader, type RecordingRef } from '@signet/webhook-core/stores'

/** Reads stored recordings in the same way as the code that builds the bodies of events. */
export const findRecordings = (db: Queryable, refs: readonly RecordingRef[]) =>
  recordingReader(db).recording(refs)
export const findTranscripts = (db: Queryable, refs: readonly RecordingRef[]) =>
  recordingReader(db).transcript(refs)
export const findSummaries = (db: Queryable, refs: readonly RecordingRef[]) =>
  recordingReader(db).summaries(refs)
