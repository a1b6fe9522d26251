import { availableParallelism } from 'node:os'
import { Piscina } from 'piscina'
import { authError } from '../errors/auth-error.js'
import { BCRYPT_MAX_BYTES, type BcryptChoice } from './bcrypt.js'
import { parseHash } from './hash-formats.js'
import { type HashJob } from './hash-job.js'

/** Hashes and checks passwords off the event loop. */
export type PasswordHasher = {
  /** A bcrypt hash of a password of at most 72 bytes. Throws `unavailable` while the queue is full. */
  hash(password: string): Promise<string>
  /** Whether the password is the one that was hashed: bcrypt, argon2i/argon2id (PHC) or Firebase scrypt. */
  verify(hash: string, password: string): Promise<boolean>
  /** Costs what `verify` costs and says nothing: for unknown users, so that timing does not tell them apart. */
  verifyDummy(password: string): Promise<void>
  /** True when the stored hash was not made with bcrypt at the configured cost. */
  needsRehash(hash: string): boolean
  close(): Promise<void>
}

export type PasswordHasherOptions = {
  /** bcrypt cost of new hashes (contract section 7: 10). */
  cost?: number
  /** Worker threads; by default one for each core. */
  threads?: number
  /** Jobs that may wait for a thread; one more is refused with `unavailable`. By default 64 for each thread. */
  maxQueue?: number
  /** Told when a job enters and when it ends, for the counters of 12.5. */
  observe?: (operation: HashJob['kind'], phase: 'submitted' | 'completed') => void
  /** `auto` takes the native implementation where it loads; the others are for tests and benchmarks. */
  bcrypt?: BcryptChoice
}

const DEFAULT_COST = 10
const DEFAULT_QUEUE_PER_THREAD = 64
/** A full queue is worked off in about this time. */
const RETRY_AFTER_SECONDS = 5

/** Starts the worker threads; `close` ends them. */
export function createPasswordHasher(options: PasswordHasherOptions = {}): PasswordHasher {
  const { cost = DEFAULT_COST, threads = availableParallelism(), observe = () => undefined } = options
  const { maxQueue = threads * DEFAULT_QUEUE_PER_THREAD } = options
  const pool = startPool(threads, options.bcrypt ?? 'auto')
  const dummyHash = `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`
  let pending = 0

  async function run<Result>(job: HashJob): Promise<Result> {
    // Counted here and not by the pool, which also holds back jobs while its threads are still starting.
    if (pending >= threads + maxQueue) throw busy()
    pending++
    observe(job.kind, 'submitted')
    try {
      return (await pool.run(job)) as Result
    } finally {
      pending--
      observe(job.kind, 'completed')
    }
  }

  return {
    async hash(password) {
      if (Buffer.byteLength(password) > BCRYPT_MAX_BYTES)
        throw new RangeError('password longer than 72 bytes')
      return run<string>({ kind: 'hash', password, cost })
    },
    verify: (hash, password) => run<boolean>({ kind: 'verify', hash, password }),
    async verifyDummy(password) {
      await run<boolean>({ kind: 'verify', hash: dummyHash, password })
    },
    needsRehash(hash) {
      const format = parseHash(hash)
      return format?.algorithm !== 'bcrypt' || format.cost !== cost
    },
    close: () => pool.destroy(),
  }
}

const busy = () =>
  authError('unavailable', 'over_capacity', 'The server is busy, try again later', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })

function startPool(threads: number, bcrypt: BcryptChoice): Piscina<HashJob, string | boolean> {
  // Run from source (tests, development) the worker is TypeScript too and needs a loader of its own.
  const fromSource = import.meta.url.endsWith('.ts')
  return new Piscina({
    filename: new URL(fromSource ? './hash-worker.ts' : './hash-worker.js', import.meta.url).href,
    // Imported, not required: Node aborts the process when a thread is ended while it requires an ES module.
    execArgv: fromSource ? ['--import', 'tsx'] : ['--no-experimental-require-module'],
    workerData: { bcrypt },
    minThreads: threads,
    maxThreads: threads,
    // Requests that hash nothing keep their latency while every core hashes: the event loop's thread goes first.
    // Only Linux has a priority for each thread; elsewhere this would slow the whole process.
    niceIncrement: process.platform === 'linux' ? 10 : 0,
  })
}
