import { readRecording, readSummaryReady, type IngestJob, type IngestResult } from './ingest-body.js'

/** Entry of the worker threads: one body at a time, as long as it takes. */
export default function readBody({ kind, bytes }: IngestJob): IngestResult<unknown> {
  return kind === 'summary-ready' ? readSummaryReady(bytes) : readRecording(bytes)
}
