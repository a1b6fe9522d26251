import { move, transferableSymbol, valueSymbol } from 'piscina'
import { bytesOf } from './encoded-parts.js'
import { readRecording, readSummaryReady, type IngestJob, type IngestResult } from './ingest-body.js'

/** Entry of the worker threads: one body at a time, as long as it takes. */
export default function readBody(job: IngestJob): object {
  return job.kind === 'summary-ready'
    ? withBytesMoved(readSummaryReady(job.bytes, job.event), ({ parts, body }) =>
        body ? [...bytesOf(parts), body] : bytesOf(parts),
      )
    : withBytesMoved(readRecording(job.bytes), bytesOf)
}

/** Sends a result back with its megabytes handed over instead of copied. */
function withBytesMoved<Value>(
  result: IngestResult<Value>,
  bytesOfValue: (value: Value) => readonly Uint8Array[],
): object {
  if ('problem' in result) return result
  const buffers = bytesOfValue(result.value).map(({ buffer }) => buffer)
  return move({ [transferableSymbol]: buffers, [valueSymbol]: result })
}
