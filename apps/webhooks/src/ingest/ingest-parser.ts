import { AppError } from '@signet/errors'
import { type BodyProblem } from '@signet/http'
import { type EncodedParts } from '@signet/webhook-core'
import { Piscina } from 'piscina'
import { v1Dialect } from '../http/v1-dialect.js'
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

/** Parsing, checking and hashing this much takes about a millisecond; more goes to a thread. */
const INLINE_BYTES = 65_536
const THREADS = 2
/** Bodies that may wait for a thread; each of them is in memory. */
const MAX_WAITING = 16
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
      throw translate(error)
    }
  }

  const read =
    <Value>(kind: IngestJob['kind'], inline: (bytes: Uint8Array) => IngestResult<Value>) =>
    async (bytes: Buffer): Promise<Value> =>
      valueOf(bytes.length <= INLINE_BYTES ? inline(bytes) : await inThread<Value>(kind, bytes))

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

function translate(error: unknown): unknown {
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (code === 'ERR_WORKER_OUT_OF_MEMORY') return v1Dialect.bodyError(TOO_COMPLEX)
  if (message !== 'Task queue is at limit') return error
  return new AppError('unavailable', 'unavailable', 'Too many large bodies at once, try again later', {
    retryAfterSeconds: 5,
  })
}

function startPool(threadMemoryMb: number): Piscina<IngestJob, IngestResult<unknown>> {
  // Run from source (tests, development) the worker is TypeScript too and needs a loader of its own.
  const fromSource = import.meta.url.endsWith('.ts')
  return new Piscina({
    filename: new URL(fromSource ? './ingest-worker.ts' : './ingest-worker.js', import.meta.url).href,
    execArgv: fromSource ? ['--conditions=@signet/source', '--import', 'tsx'] : [],
    minThreads: 0,
    maxThreads: THREADS,
    maxQueue: MAX_WAITING,
    idleTimeout: 60_000,
    resourceLimits: { maxOldGenerationSizeMb: threadMemoryMb },
    niceIncrement: process.platform === 'linux' ? 5 : 0,
  })
}
