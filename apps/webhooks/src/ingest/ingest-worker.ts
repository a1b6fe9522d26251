import { move, transferableSymbol, valueSymbol } from 'piscina'
import { readRecording, readSummaryReady, type IngestJob, type IngestResult } from './ingest-body.js'

/** Entry of the worker threads: one body at a time, as long as it takes. */
export default function readBody({ kind, bytes }: IngestJob): object {
  return kind === 'summary-ready'
    ? withBytesMoved(readSummaryReady(bytes), ({ parts }) => parts.encoded)
    : withBytesMoved(readRecording(bytes), ({ encoded }) => encoded)
}

/** Sends a result back with its megabytes handed over instead of copied. */
function withBytesMoved<Value>(
  result: IngestResult<Value>,
  valuesOf: (value: Value) => readonly unknown[],
): object {
  if ('problem' in result) return result
  const bytes = valuesOf(result.value).filter((value) => value instanceof Uint8Array)
  return move({ [transferableSymbol]: bytes.map(({ buffer }) => buffer), [valueSymbol]: result })
}
