import type { AppError } from '@signet/errors'
import { threadEntry } from '@signet/threads'
import { Piscina } from 'piscina'
import { v1ErrorRenderer } from '../http/v1-error-renderer.js'
import { accountHint } from './account-hint.js'
import { SMALL_BODY_BYTES } from './body-sizes.js'
import type { EncodedParts } from './encoded-parts.js'
import { readRecording, readSummaryReady, type IngestJob, type IngestResult } from './ingest-body.js'
import { KeyTurns } from './key-turns.js'
import type { NewEvent, SummaryReady } from './summary-ready.js'

/**
 * Turns bodies of the internal API into checked values: large ones, and batches of any size, off the event loop (decision 0070). One body
 * of an account at a time, so that it cannot have every thread, and others are next when one gets free.
 */
export type IngestParser = {
  summaryReady(bytes: Buffer, event: NewEvent): Promise<SummaryReady>
  /** One result per line, an error where a line is refused. */
  batch(bytes: Buffer, createdAt: Date): Promise<(SummaryReady | AppError)[]>
  recording(bytes: Buffer, accountId: string): Promise<EncodedParts>
  close(): Promise<void>
}

const THREADS = 2

export function createIngestParser({ threads = THREADS } = {}): IngestParser {
  const pool = startPool(threads)
  const turns = new KeyTurns()

  function inThread<Value>(job: IngestJob, share: string): Promise<IngestResult<Value>> {
    // A large body is transferred instead of copied, because the handler no longer needs the bytes. A small one may share its memory with
    // others.
    const transferList = job.bytes.length <= SMALL_BODY_BYTES ? [] : [job.bytes.buffer as ArrayBuffer]
    return turns.run([share], () => pool.run(job, { transferList })) as Promise<IngestResult<Value>>
  }
  const isSmall = (bytes: Buffer) => bytes.length <= SMALL_BODY_BYTES

  return {
    summaryReady: async (bytes, event) =>
      valueOf(
        isSmall(bytes)
          ? readSummaryReady(bytes, event)
          : await inThread<SummaryReady>({ kind: 'summary-ready', bytes, event }, accountHint(bytes)),
      ),
    // Refusing a line costs as much as parsing kilobytes, and two bytes can be a line.
    batch: async (bytes, createdAt) =>
      valueOf(
        await inThread<IngestResult<SummaryReady>[]>({ kind: 'batch', bytes, createdAt }, accountHint(bytes)),
      ).map((line) => ('problem' in line ? v1ErrorRenderer.bodyError(line.problem) : line.value)),
    recording: async (bytes, accountId) =>
      valueOf(
        isSmall(bytes)
          ? readRecording(bytes)
          : await inThread<EncodedParts>({ kind: 'recording', bytes }, accountId),
      ),
    close: () => pool.destroy(),
  }
}

function valueOf<Value>(result: IngestResult<Value>): Value {
  if ('problem' in result) throw v1ErrorRenderer.bodyError(result.problem)
  return result.value
}

function startPool(maxThreads: number): Piscina<IngestJob, IngestResult<unknown>> {
  return new Piscina({
    ...threadEntry(import.meta.url, 'ingest-worker'),
    // One is ready from the start and stays: loading its code takes longer than parsing most bodies. Only from source it has to
    // be compiled first, which is not worth it for a test without large bodies.
    minThreads: import.meta.url.endsWith('.ts') ? 0 : 1,
    maxThreads,
    idleTimeout: 60_000,
    // Otherwise a body that finds no free thread would queue behind later ones.
    stricterFIFO: true,
  })
}
