import type { Queryable } from '@signet/db'
import { recordingReader, type RecordingRef } from '@signet/webhook-core/stores'

/** What is stored of recordings, as the bodies of events are built from it. */
export const findRecordings = (db: Queryable, refs: readonly RecordingRef[]) =>
  recordingReader(db).recording(refs)
export const findTranscripts = (db: Queryable, refs: readonly RecordingRef[]) =>
  recordingReader(db).transcript(refs)
export const findSummaries = (db: Queryable, refs: readonly RecordingRef[]) =>
  recordingReader(db).summaries(refs)
