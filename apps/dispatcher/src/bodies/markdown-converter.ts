import { Piscina } from 'piscina'
import type { MarkdownJob, MarkdownResult } from './markdown-worker.js'

/** Why HTML could not be converted. */
export type MarkdownFailure = 'too_large' | 'timeout' | 'error' | 'empty'
export type MarkdownOutcome = { markdown: string } | { failure: MarkdownFailure }

export type MarkdownConverterOptions = {
  /** For one conversion, not counting the wait for a thread. */
  timeLimitMs?: number
  threads?: number
}

const MAX_BYTES = 2 * 1024 * 1024
const TIME_LIMIT_MS = 1000
const THREADS = 2
/** A thread that needs more memory than this for one document is terminated; the process is not. */
const THREAD_MEMORY_MB = 256
/** Upper bound on waiting and converting together, in case a thread gets stuck where its own limit cannot stop it. */
const TOTAL_TIMEOUT_MS = 30_000

/** Converts HTML to Markdown off the event loop (apps/webhooks/docs/specification.md#html-to-markdown). Hostile markup costs a thread one second and no delivery. */
export class MarkdownConverter {
  readonly #timeLimitMs: number
  readonly #threads: number
  #pool: Piscina<MarkdownJob, MarkdownResult> | undefined

  constructor({ timeLimitMs = TIME_LIMIT_MS, threads = THREADS }: MarkdownConverterOptions = {}) {
    this.#timeLimitMs = timeLimitMs
    this.#threads = threads
  }

  /** Never rejects: a document that cannot be converted is sent unchanged. */
  async convert(html: string): Promise<MarkdownOutcome> {
    if (html.trim() === '') return { markdown: html }
    if (Buffer.byteLength(html) > MAX_BYTES) return { failure: 'too_large' }
    const result = await this.#run({ html, timeLimitMs: this.#timeLimitMs })
    if ('markdown' in result && result.markdown.trim() === '') return { failure: 'empty' }
    return result
  }

  async close(): Promise<void> {
    await this.#pool?.destroy()
  }

  async #run(job: MarkdownJob): Promise<MarkdownResult> {
    this.#pool ??= startPool(this.#threads)
    const signal = AbortSignal.timeout(TOTAL_TIMEOUT_MS)
    try {
      return await this.#pool.run(job, { signal })
    } catch {
      // The thread ran out of memory or time. The pool replaces it.
      return { failure: signal.aborted ? 'timeout' : 'error' }
    }
  }
}

function startPool(threads: number): Piscina<MarkdownJob, MarkdownResult> {
  // Run from source (tests, development), the worker is TypeScript and needs its own loader.
  const fromSource = import.meta.url.endsWith('.ts')
  return new Piscina({
    filename: new URL(fromSource ? './markdown-worker.ts' : './markdown-worker.js', import.meta.url).href,
    // Import instead of require: Node aborts the process when a thread is terminated while it requires an ES module.
    execArgv: fromSource ? ['--import', 'tsx'] : ['--no-experimental-require-module'],
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: 60_000,
    resourceLimits: { maxOldGenerationSizeMb: THREAD_MEMORY_MB },
  })
}
