import { availableParallelism } from 'node:os'
import { authError } from '../errors/auth-error.js'
import { BCRYPT_MAX_BYTES, type BcryptChoice } from './bcrypt.js'
import { comparisonWith } from './compare.js'
import { parseHash } from './hash-formats.js'
import type { HashCaller } from './hash-caller.js'
import type { HashJob } from './hash-job.js'
import { HashThreads } from './hash-threads.js'

/**
 * Hashes and checks passwords off the event loop. The methods throw `unavailable` if the queue is full, and `timeout` if the signal is
 * aborted before the job's turn comes.
 */
export type PasswordHasher = HasherFor<[caller: HashCaller]>

/** For benchmarks and tests, which serve no clients. */
export type DirectHasher = HasherFor<[caller?: HashCaller]>

type HasherFor<Caller extends [HashCaller?]> = {
  /** A bcrypt hash of a password of at most 72 bytes. */
  hash(password: string, ...caller: Caller): Promise<string>
  /** Whether the password matches the hash: bcrypt, argon2i/argon2id (PHC) or Firebase scrypt. */
  verify(hash: string, password: string, ...caller: Caller): Promise<boolean>
  /**
   * The index of the first hash that the password matches, or -1. A hash that does not match takes at least as long as one of the service's
   * own, even if it is cheaper or null, so that timing does not tell a stranger which hashes exist. Once the first hash was compared, this
   * no longer fails, so that every guess can be counted. If the signal is aborted after that, the other hashes do not match.
   */
  firstMatch(hashes: readonly (string | null)[], password: string, ...caller: Caller): Promise<number>
  /** True when the stored hash was not made with bcrypt at the configured cost. */
  needsRehash(hash: string): boolean
  close(): Promise<void>
}

export type PasswordHasherOptions = {
  /** bcrypt cost of new hashes (docs/specification.md#passwords: 10). */
  cost?: number
  /** Worker threads; by default one for each core. */
  threads?: number
  /**
   * At most this many jobs of known callers may wait, and as many others. Beyond that, the newest job of the network with the most jobs is
   * refused with `unavailable`. By default 64 for each thread, or `queuePerThread`.
   */
  maxQueue?: number
  queuePerThread?: number
  /** Called when a job enters and when it ends, for the counters. */
  observe?: (operation: HashJob['kind'], phase: 'submitted' | 'completed') => void
  /** `auto` uses the native implementation if it loads; the others are for tests and benchmarks. */
  bcrypt?: BcryptChoice
}

const DEFAULT_COST = 10
const DEFAULT_QUEUE_PER_THREAD = 64

/** Worker threads start with the first passwords; `close` ends them. */
export function createPasswordHasher(options: PasswordHasherOptions = {}): DirectHasher {
  const { cost = DEFAULT_COST, threads = availableParallelism(), observe = () => undefined } = options
  const { queuePerThread = DEFAULT_QUEUE_PER_THREAD } = options
  const { maxQueue = threads * queuePerThread } = options
  const pool = new HashThreads(threads, maxQueue, options.bcrypt ?? 'auto')

  async function run(kind: HashJob['kind'], jobs: readonly HashJob[], caller: HashCaller = NOBODY) {
    observe(kind, 'submitted')
    try {
      return await pool.run(jobs, caller)
    } catch (error) {
      throw caller.signal?.aborted ? givenUp(error) : error
    } finally {
      observe(kind, 'completed')
    }
  }

  const firstMatch: DirectHasher['firstMatch'] = async (hashes, password, caller) => {
    const jobs = hashes.map((hash) => ({
      kind: 'verify' as const,
      password,
      comparison: comparisonWith(hash, cost),
    }))
    return (await run('verify', jobs, caller))?.index ?? -1
  }

  return {
    async hash(password, caller) {
      if (Buffer.byteLength(password) > BCRYPT_MAX_BYTES)
        throw new RangeError('password longer than 72 bytes')
      const made = await run('hash', [{ kind: 'hash', password, cost }], caller)
      if (typeof made?.result !== 'string') throw new TypeError('a job to hash a password made no hash')
      return made.result
    },
    verify: async (hash, password, caller) => (await firstMatch([hash], password, caller)) === 0,
    firstMatch,
    needsRehash(hash) {
      const format = parseHash(hash)
      return format?.algorithm !== 'bcrypt' || format.cost !== cost
    },
    close: () => pool.close(),
  }
}

const NOBODY: HashCaller = { client: { key: '' }, isKnown: false }

const givenUp = (cause: unknown) =>
  authError('timeout', 'request_timeout', 'The request was cancelled while it was queued', { cause })
