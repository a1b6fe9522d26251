import { availableParallelism } from 'node:os'
import { authError } from '../errors/auth-error.js'
import { BCRYPT_MAX_BYTES, type BcryptChoice } from './bcrypt.js'
import { parseHash } from './hash-formats.js'
import type { HashJob } from './hash-job.js'
import { HashThreads } from './hash-threads.js'

/**
 * Hashes and checks passwords off the event loop. All three throw `unavailable` while the queue is full, and `timeout` for
 * a job whose signal was aborted before its turn came.
 */
export type PasswordHasher = {
  /** A bcrypt hash of a password of at most 72 bytes. */
  hash(password: string, signal?: AbortSignal): Promise<string>
  /**
   * Whether the password matches the hash: bcrypt, argon2i/argon2id (PHC) or Firebase scrypt. A wrong password takes at least
   * as long as for an unknown user, even if the hash is cheaper.
   */
  verify(hash: string, password: string, signal?: AbortSignal): Promise<boolean>
  /** Costs as much as `verify` without a result: for unknown users, so that timing does not reveal them. */
  verifyDummy(password: string, signal?: AbortSignal): Promise<void>
  /** True when the stored hash was not made with bcrypt at the configured cost. */
  needsRehash(hash: string): boolean
  close(): Promise<void>
}

export type PasswordHasherOptions = {
  /** bcrypt cost of new hashes (docs/specification.md#passwords: 10). */
  cost?: number
  /** Worker threads; by default one for each core. */
  threads?: number
  /** Maximum number of queued jobs; further ones are refused with `unavailable`. By default 64 for each thread. */
  maxQueue?: number
  /** Told when a job enters and when it ends, for the counters. */
  observe?: (operation: HashJob['kind'], phase: 'submitted' | 'completed') => void
  /** `auto` uses the native implementation if it loads; the others are for tests and benchmarks. */
  bcrypt?: BcryptChoice
}

const DEFAULT_COST = 10
const DEFAULT_QUEUE_PER_THREAD = 64
/** About the time it takes to work through a full queue. */
const RETRY_AFTER_SECONDS = 5

/** Worker threads start with the first passwords; `close` ends them. */
export function createPasswordHasher(options: PasswordHasherOptions = {}): PasswordHasher {
  const { cost = DEFAULT_COST, threads = availableParallelism(), observe = () => undefined } = options
  const { maxQueue = threads * DEFAULT_QUEUE_PER_THREAD } = options
  const pool = new HashThreads(threads, options.bcrypt ?? 'auto')
  const dummyHash = `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`

  /** What other formats cost is not known, so it is taken for less. */
  const mayBeCheaper = (hash: string): boolean => {
    const format = parseHash(hash)
    return format?.algorithm !== 'bcrypt' || format.cost < cost
  }

  async function run<Result>(job: HashJob, signal: AbortSignal | undefined): Promise<Result> {
    if (pool.pending >= threads + maxQueue) throw busy()
    observe(job.kind, 'submitted')
    try {
      return (await pool.run(job, signal)) as Result
    } catch (error) {
      throw signal?.aborted ? givenUp(error) : error
    } finally {
      observe(job.kind, 'completed')
    }
  }

  return {
    async hash(password, signal) {
      if (Buffer.byteLength(password) > BCRYPT_MAX_BYTES)
        throw new RangeError('password longer than 72 bytes')
      return run<string>({ kind: 'hash', password, cost }, signal)
    },
    verify(hash, password, signal) {
      const job = { kind: 'verify', hash, password } as const
      return run<boolean>(mayBeCheaper(hash) ? { ...job, elseAlso: dummyHash } : job, signal)
    },
    async verifyDummy(password, signal) {
      await run<boolean>({ kind: 'verify', hash: dummyHash, password }, signal)
    },
    needsRehash(hash) {
      const format = parseHash(hash)
      return format?.algorithm !== 'bcrypt' || format.cost !== cost
    },
    close: () => pool.close(),
  }
}

const busy = () =>
  authError('unavailable', 'over_capacity', 'The server is busy, try again later', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })

const givenUp = (cause: unknown) =>
  authError('timeout', 'request_timeout', 'The request was cancelled while it was queued', { cause })
