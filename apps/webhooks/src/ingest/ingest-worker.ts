import { move, transferableSymbol, valueSymbol } from 'piscina'
import { bytesOf } from './encoded-parts.js'
import {
  readBatch,
  readRecording,
  readSummaryReady,
  type IngestJob,
  type IngestResult,
} from './ingest-body.js'
import type { SummaryReady } from './summary-ready.js'

/** Entry point of the worker threads. Handles one body at a time, for as long as it takes. */
export default function readBody(job: IngestJob): object {
  switch (job.kind) {
    case 'summary-ready':
      return withBytesMoved(readSummaryReady(job.bytes, job.event), bytesOfNotice)
    case 'batch':
      return withBytesMoved(readBatch(job.bytes, job.createdAt), (lines) =>
        lines.flatMap((line) => ('value' in line ? bytesOfNotice(line.value) : [])),
      )
    case 'recording':
      return withBytesMoved(readRecording(job.bytes), bytesOf)
  }
}

const bytesOfNotice = ({ parts, body }: SummaryReady): Uint8Array[] =>
  body ? [...bytesOf(parts), body] : bytesOf(parts)

/** Sends a result back with its buffers transferred instead of copied. */
function withBytesMoved<Value>(
  result: IngestResult<Value>,
  bytesOfValue: (value: Value) => readonly Uint8Array[],
): object {
  if ('problem' in result) return result
  const buffers = bytesOfValue(result.value).map(({ buffer }) => buffer)
  return move({ [transferableSymbol]: buffers, [valueSymbol]: result })
}
