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
 * Turns bodies of the internal API into checked values. Large ones, and batches of any size, are parsed off the event loop
 * (decision 0070). Only one body of an account is parsed at a time, so that the account cannot occupy every thread and others get the
 * next free one.
 */
export type IngestParser = {
  summaryReady(bytes: Buffer, event: NewEvent): Promise<SummaryReady>
  /** One result per line, or an error for a line that is refused. */
  batch(bytes: Buffer, createdAt: Date): Promise<(SummaryReady | AppError)[]>
  recording(bytes: Buffer, accountId: string): Promise<EncodedParts>
  close(): Promise<void>
}

const THREADS = 2

export function createIngestParser({ threads = THREADS } = {}): IngestParser {
  const pool = startPool(threads)
  const turns = new KeyTurns()

  function inThread<Value>(job: IngestJob, share: string): Promise<IngestResult<Value>> {
    // Transfers a large body instead of copying it, because the handler no longer needs the bytes. A small one may share its memory
    // with others.
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
    // Refusing a line takes as long as parsing kilobytes, and two bytes can be a line.
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
    // Keeps one thread from the start, because loading its code takes longer than parsing most bodies. When running from source, the
    // code must be compiled first, which is not worth it for tests without large bodies.
    minThreads: import.meta.url.endsWith('.ts') ? 0 : 1,
    maxThreads,
    idleTimeout: 60_000,
    // Otherwise a body that finds no free thread would queue behind later ones.
    stricterFIFO: true,
  })
}
