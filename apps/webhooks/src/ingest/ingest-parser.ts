import { type BodyProblem } from '@signet/http'
import { type EncodedParts } from '@signet/webhook-core'
import { Piscina } from 'piscina'
import { v1Dialect } from '../http/v1-dialect.js'
import { SMALL_BODY_BYTES } from './body-admission.js'
import {
  readRecording,
  readSummaryReady,
  type IngestJob,
  type IngestResult,
  type SummaryReady,
} from './ingest-body.js'

/** Turns bodies of the internal API into checked values, large ones off the event loop. */
export type IngestParser = {
  summaryReady(bytes: Buffer): Promise<SummaryReady>
  recording(bytes: Buffer): Promise<EncodedParts>
  close(): Promise<void>
}

const THREADS = 2
const THREAD_MEMORY_MB = 512

export type IngestParserOptions = {
  /** A thread that needs more heap than this for one body ends, and not the process. */
  threadMemoryMb?: number
}

/** Starts no thread before the first large body. */
export function createIngestParser({
  threadMemoryMb = THREAD_MEMORY_MB,
}: IngestParserOptions = {}): IngestParser {
  const pool = startPool(threadMemoryMb)

  async function inThread<Value>(kind: IngestJob['kind'], bytes: Buffer): Promise<IngestResult<Value>> {
    const job: IngestJob = { kind, bytes }
    try {
      // Moved and not copied: the handler is done with the bytes.
      return (await pool.run(job, { transferList: [bytes.buffer as ArrayBuffer] })) as IngestResult<Value>
    } catch (error) {
      throw isOutOfMemory(error) ? v1Dialect.bodyError(TOO_COMPLEX) : error
    }
  }

  const read =
    <Value>(kind: IngestJob['kind'], inline: (bytes: Uint8Array) => IngestResult<Value>) =>
    async (bytes: Buffer): Promise<Value> =>
      valueOf(bytes.length <= SMALL_BODY_BYTES ? inline(bytes) : await inThread<Value>(kind, bytes))

  return {
    summaryReady: read('summary-ready', readSummaryReady),
    recording: read('recording', readRecording),
    close: () => pool.destroy(),
  }
}

function valueOf<Value>(result: IngestResult<Value>): Value {
  if ('problem' in result) throw v1Dialect.bodyError(result.problem)
  return result.value
}

const TOO_COMPLEX: BodyProblem = { kind: 'too_large', message: 'The body has too many values' }

const isOutOfMemory = (error: unknown): boolean =>
  (error as { code?: unknown }).code === 'ERR_WORKER_OUT_OF_MEMORY'

function startPool(threadMemoryMb: number): Piscina<IngestJob, IngestResult<unknown>> {
  // Run from source (tests, development) the worker is TypeScript too and needs a loader of its own.
  const fromSource = import.meta.url.endsWith('.ts')
  return new Piscina({
    filename: new URL(fromSource ? './ingest-worker.ts' : './ingest-worker.js', import.meta.url).href,
    execArgv: fromSource ? ['--conditions=@signet/source', '--import', 'tsx'] : [],
    minThreads: 0,
    maxThreads: THREADS,
    idleTimeout: 60_000,
    resourceLimits: { maxOldGenerationSizeMb: threadMemoryMb },
    niceIncrement: process.platform === 'linux' ? 5 : 0,
  })
}
