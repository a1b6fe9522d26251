import type { EncodedParts } from './encoded-parts.js'
import { Piscina } from 'piscina'
import { v1ErrorRenderer } from '../http/v1-error-renderer.js'
import { SMALL_BODY_BYTES } from './body-admission.js'
import { readRecording, readSummaryReady, type IngestJob, type IngestResult } from './ingest-body.js'
import type { NewEvent, SummaryReady } from './summary-ready.js'

/** Turns bodies of the internal API into checked values, large ones off the event loop. */
export type IngestParser = {
  summaryReady(bytes: Buffer, event: NewEvent): Promise<SummaryReady>
  recording(bytes: Buffer): Promise<EncodedParts>
  close(): Promise<void>
}

const THREADS = 2

/** Starts no thread before the first large body. */
export function createIngestParser(): IngestParser {
  const pool = startPool()

  async function inThread<Value>(job: IngestJob): Promise<IngestResult<Value>> {
    // Moved and not copied: the handler is done with the bytes.
    return (await pool.run(job, { transferList: [job.bytes.buffer as ArrayBuffer] })) as IngestResult<Value>
  }
  const isSmall = (bytes: Buffer) => bytes.length <= SMALL_BODY_BYTES

  return {
    summaryReady: async (bytes, event) =>
      valueOf(
        isSmall(bytes)
          ? readSummaryReady(bytes, event)
          : await inThread<SummaryReady>({ kind: 'summary-ready', bytes, event }),
      ),
    recording: async (bytes) =>
      valueOf(
        isSmall(bytes) ? readRecording(bytes) : await inThread<EncodedParts>({ kind: 'recording', bytes }),
      ),
    close: () => pool.destroy(),
  }
}

function valueOf<Value>(result: IngestResult<Value>): Value {
  if ('problem' in result) throw v1ErrorRenderer.bodyError(result.problem)
  return result.value
}

function startPool(): Piscina<IngestJob, IngestResult<unknown>> {
  // Run from source (tests, development) the worker is TypeScript too and needs a loader of its own.
  const fromSource = import.meta.url.endsWith('.ts')
  return new Piscina({
    filename: new URL(fromSource ? './ingest-worker.ts' : './ingest-worker.js', import.meta.url).href,
    // Imported, not required: Node aborts the process when a thread is ended while it requires an ES module.
    execArgv: fromSource
      ? ['--conditions=@signet/source', '--import', 'tsx']
      : ['--no-experimental-require-module'],
    minThreads: 0,
    maxThreads: THREADS,
    idleTimeout: 60_000,
  })
}
