import { readFileSync } from 'node:fs'

/** Which limit a document is over. */
type LimitName = 'too_deep' | 'too_many_nodes' | 'too_large' | 'cpu_limit'

/** Why one document could not be converted. */
export type ConversionFailure = LimitName | 'empty' | 'error'

export class LimitExceededError extends Error {
  constructor(readonly limit: LimitName) {
    super(`the document is over its limit: ${limit}`)
  }
}

/**
 * CPU time of the calling thread in milliseconds. Linux reports it to the nanosecond; elsewhere this is the elapsed time.
 */
function threadCpuMs(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ', 1)[0]) / 1e6
  } catch {
    return performance.now()
  }
}

/**
 * Ends a conversion that has used up its CPU time. Time in which the thread waits for a CPU does not count: on a busy machine
 * an ordinary page takes longer without using more.
 */
export class CpuLimit {
  readonly #startedAt: number
  #nextLook: number

  constructor(
    private readonly limitMs: number,
    private readonly cpuMs: () => number = threadCpuMs,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.#startedAt = cpuMs()
    this.#nextLook = now() + limitMs
  }

  get usedMs(): number {
    return this.cpuMs() - this.#startedAt
  }

  /** Cheap: CPU time never passes faster than wall-clock time, so most calls need not read it. */
  check(): void {
    if (this.now() < this.#nextLook) return
    const leftMs = this.limitMs - this.usedMs
    if (leftMs <= 0) throw new LimitExceededError('cpu_limit')
    this.#nextLook = this.now() + leftMs
  }
}
