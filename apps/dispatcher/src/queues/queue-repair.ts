import { Periodic } from '@signet/periodic'
import type { Cluster, Redis } from 'ioredis'
import { CHECK_KEYS, DROP_JOB, FIND_SUSPECTS, FREE_LOCKS, OWN_KEYS, REMOVE_STRAYS } from './repair-scripts.js'

export type QueueRepairDeps = {
  connection: Redis | Cluster
  /** The key of a job, or of the queue itself. */
  toKey: (name: string) => string
  onDropped: (jobId: string) => void
  onError: (error: Error) => void
  /** Pauses or resumes the queue, as was decided. */
  applyPause: () => Promise<unknown>
}

/** How often the queue's own keys are looked at, and at most how often strays are looked for. */
const INTERVAL_MS = 3_000
const PAGE = 1000
/** Jobs that may be strays, before the lists are read for them. About 20 MB. */
const MAX_SUSPECTS = 100_000

/** By the ids of jobs, what they were like before the lists were read. */
type Suspects = Map<string, string>

/**
 * Removes what BullMQ cannot work with, so that the sweeper can make other jobs for the work: a job that exists has work left, as far as
 * the sweeper knows. A script of BullMQ that fails at a key of another type, or at a field that is no number, leaves what it did before: a
 * locked job that nobody works on, or jobs that are in none of the lists (strays), also healthy ones. No job is removed on which
 * somebody works: that one is in `active` with a lock that has another token.
 */
export class QueueRepair {
  readonly #checks: Periodic
  #hasStrays = false
  #mayBePaused = false

  constructor(private readonly deps: QueueRepairDeps) {
    const run = async () => {
      await this.#checkKeys()
      if (this.#mayBePaused) await this.#applyPause()
      if (this.#hasStrays) await this.#removeStrays().catch(this.#tryAgain)
    }
    // A Redis that does not work shows elsewhere.
    this.#checks = new Periodic({ everyMs: INTERVAL_MS, run, onError: () => undefined })
  }

  readonly #tryAgain = () => {
    this.#hasStrays = true
  }

  start(): void {
    this.#checks.start()
  }

  stop(): Promise<void> {
    return this.#checks.stop()
  }

  /** To be told all errors of the worker: after one of a script, jobs may be strays. */
  notice(error: unknown): void {
    if (isScriptError(error)) this.lookForStrays()
  }

  /** To be told that there is a job in no list, for which no script failed: somebody deleted a key of the queue. */
  lookForStrays(): void {
    this.#hasStrays = true
  }

  /**
   * Removes the job at which taking or finishing one failed, unless the queue's own keys may be the reason: the one that was locked with
   * this token, or the one to be finished, if it is active and its lock is gone. Returns false if there is none.
   */
  async dropAfter(error: unknown, token: string, finished?: string): Promise<boolean> {
    if (!isScriptError(error) && !isParseError(error)) return false
    if (await this.#checkKeys()) return false
    const dropped = await this.#eval<string | null>(DROP_JOB, [token, finished ?? ''])
    if (dropped === null) return false
    this.notice(error)
    this.deps.onDropped(dropped)
    return true
  }

  /** Lets locks be renewed again, if this failed at a key of another type. */
  async freeLocksAfter(error: unknown): Promise<boolean> {
    return isScriptError(error) && (await this.#eval<number>(FREE_LOCKS, [])) > 0
  }

  /** Deletes keys of the queue itself that are not what BullMQ writes. Their jobs are strays then. */
  async #checkKeys(): Promise<boolean> {
    const deleted = await this.#eval<string[]>(CHECK_KEYS, [])
    if (deleted.length > 0) this.#hasStrays = true
    if (deleted.includes('meta')) this.#mayBePaused = true
    for (const name of deleted) this.deps.onError(new ForeignKey(this.deps.toKey(name)))
    return deleted.length > 0
  }

  async #applyPause(): Promise<void> {
    await this.deps.applyPause()
    this.#mayBePaused = false
  }

  async #removeStrays(): Promise<void> {
    this.#hasStrays = false
    const suspects: Suspects = new Map()
    for await (const jobIds of this.#jobIds()) {
      const found = await this.#eval<string[]>(FIND_SUSPECTS, jobIds)
      for (let i = 0; i < found.length; i += 2) suspects.set(found[i] ?? '', found[i + 1] ?? '')
      if (suspects.size >= MAX_SUSPECTS) await this.#removeStraysAmong(suspects)
    }
    await this.#removeStraysAmong(suspects)
  }

  async #removeStraysAmong(suspects: Suspects): Promise<void> {
    // Jobs move forward, so `active` comes last. One that moved back has another state.
    for (const list of ['wait', 'paused', 'active'])
      for await (const jobIds of this.#pages(list)) for (const jobId of jobIds) suspects.delete(jobId)
    const left = [...suspects]
    suspects.clear()
    for (let from = 0; from < left.length; from += PAGE / 2) {
      const page = left.slice(from, from + PAGE / 2)
      const [again, ...removed] = await this.#eval<[string, ...string[]]>(REMOVE_STRAYS, page.flat())
      // The worker of a locked one still works on it, and finds out that it cannot finish it.
      if (again !== '0') this.#hasStrays = true
      for (const jobId of removed) this.deps.onDropped(jobId)
    }
  }

  async *#pages(list: string): AsyncGenerator<string[]> {
    for (let from = 0; ; from += PAGE) {
      const page = await this.deps.connection.lrange(this.deps.toKey(list), from, from + PAGE - 1)
      yield page
      if (page.length < PAGE) return
    }
  }

  /** Of all keys of the queue that can be a job's. */
  async *#jobIds(): AsyncGenerator<string[]> {
    const { connection, toKey } = this.deps
    const base = toKey('')
    const pattern = `${base.replaceAll(/[*?[\]\\]/g, String.raw`\$&`)}*`
    for (const node of 'nodes' in connection ? connection.nodes('master') : [connection]) {
      let cursor = '0'
      do {
        const [next, keys] = await node.scan(cursor, 'MATCH', pattern, 'COUNT', PAGE)
        cursor = next
        const names = keys.map((key) => key.slice(base.length))
        const jobIds = names.filter((name) => !name.includes(':') && !OWN_KEYS.has(name))
        if (jobIds.length > 0) yield jobIds
      } while (cursor !== '0' && !this.#checks.stopping.aborted)
    }
  }

  #eval<Answer>(script: string, args: string[]): Promise<Answer> {
    const { connection, toKey } = this.deps
    return connection.eval(script, 1, toKey('active'), toKey(''), ...args) as Promise<Answer>
  }
}

/** Named in the log, with what follows from it. */
class ForeignKey extends Error {
  constructor(key: string) {
    super(
      `${key} was not what the queue writes; deleted it, and the sweeper makes the jobs again that it had`,
    )
    this.name = 'ForeignKey'
  }
}

/** Redis ran the script and failed at what a key contains. Others, like OOM or READONLY, are of the server and begin with their code. */
const isScriptError = (error: unknown): boolean =>
  error instanceof Error && error.name === 'ReplyError' && /^(WRONGTYPE|ERR) /.test(error.message)

/** Of `JSON.parse`, or of code that expects an object where there was another JSON value. */
const isParseError = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'SyntaxError' || error.name === 'TypeError')
