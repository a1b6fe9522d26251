import { threadEntry } from '@signet/threads'
import { Piscina } from 'piscina'
import type { MarkdownJob, MarkdownResult } from './markdown-worker.js'

export type MarkdownConverterOptions = {
  cpuLimitMs?: number
  threads?: number
  hardLimitMs?: number
  /** The module that the threads run. */
  worker?: URL
}

export const MAX_BYTES = 2 * 1024 * 1024
/** CPU time for one document: four times what a page of 1 MB takes. */
export const CPU_LIMIT_MS = 2000
export const CONVERSION_THREADS = 2
/** A thread that needs more memory than this for one document is terminated; the process is not. */
const THREAD_MEMORY_MB = 256
const ENTRY = threadEntry(import.meta.url, 'markdown-worker')
const WORKER = new URL(ENTRY.filename)
/** Time limit for a thread that stops responding. A thread with a low priority on a busy machine takes minutes for 2 s of CPU time. */
const HARD_LIMIT_MS = 300_000

/**
 * Converts HTML to Markdown off the event loop (apps/webhooks/docs/specification.md#html-to-markdown). Threads start with the
 * first document and then stay, because starting one takes longer than most documents.
 */
export class MarkdownConverter {
  readonly #options: Required<MarkdownConverterOptions>
  #pool: Piscina<MarkdownJob, MarkdownResult> | undefined

  constructor({
    cpuLimitMs = CPU_LIMIT_MS,
    threads = CONVERSION_THREADS,
    hardLimitMs = HARD_LIMIT_MS,
    worker = WORKER,
  }: MarkdownConverterOptions = {}) {
    this.#options = { cpuLimitMs, threads, hardLimitMs, worker }
  }

  /** Never rejects: a document that cannot be converted is sent unchanged. `cpuLimitMs` may lower the limit. */
  async convert(html: string, cpuLimitMs = Infinity): Promise<MarkdownResult> {
    if (html.trim() === '') return { markdown: html, cpuMs: 0 }
    if (Buffer.byteLength(html) > MAX_BYTES) return { failure: 'too_large', cpuMs: 0 }
    const { threads, hardLimitMs, worker } = this.#options
    const limitMs = Math.min(cpuLimitMs, this.#options.cpuLimitMs)
    this.#pool ??= startPool(threads, worker)
    try {
      return await this.#pool.run({ html, cpuLimitMs: limitMs }, { signal: AbortSignal.timeout(hardLimitMs) })
    } catch {
      // The thread ran out of memory, was killed or did not answer. The pool replaces it.
      return { failure: 'error', cpuMs: limitMs }
    }
  }

  async close(): Promise<void> {
    await this.#pool?.destroy()
  }
}

function startPool(threads: number, worker: URL): Piscina<MarkdownJob, MarkdownResult> {
  return new Piscina({
    filename: worker.href,
    execArgv: ENTRY.execArgv,
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: Infinity,
    resourceLimits: { maxOldGenerationSizeMb: THREAD_MEMORY_MB },
  })
}
