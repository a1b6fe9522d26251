import { Periodic } from '@signet/periodic'
import type { Cluster, Redis } from 'ioredis'
import { CHECK_KEYS, DROP_JOB, FIND_SUSPECTS, FREE_LOCKS, OWN_KEYS, REMOVE_STRAYS } from './repair-scripts.js'

export type QueueRepairDeps = {
  connection: Redis | Cluster
  /** The key of a job, or of the queue itself. */
  toKey: (name: string) => string
  onDropped: (jobId: string) => void
  onError: (error: Error) => void
  /** Pauses or resumes the queue, whichever operators chose last. */
  applyPause: () => Promise<unknown>
}

/** How often the queue's own keys are checked. Strays are searched for at most this often. */
const INTERVAL_MS = 3_000
const PAGE = 1000
/** How many possible strays to collect before the lists are read to rule out most of them. About 20 MB. */
const MAX_SUSPECTS = 100_000

/** Jobs by id, with the state that each had before the lists were read. */
type Suspects = Map<string, string>

/**
 * Repairs a queue whose keys in Redis were damaged, for instance by an operator or another program.
 *
 * BullMQ works with Lua scripts. When one meets a key of the wrong type, or text where it expects a number, it stops halfway. That
 * leaves a locked job that nobody works on, or strays: jobs that exist but are in none of the queue's lists, so no worker will ever take
 * them, even if they are healthy. The sweeper does not help either, because it takes a job that exists for work in progress.
 *
 * So this removes the damaged keys, broken jobs and strays, and the sweeper then creates new jobs for their work. It never removes a job
 * that someone is working on: such a job is in `active`, with the lock of its worker.
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
    // The worker itself reports that Redis is unavailable.
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

  /** Call it with every error of the worker: a script that failed may have left strays behind. */
  notice(error: unknown): void {
    if (isScriptError(error)) this.lookForStrays()
  }

  /** Call it when a stray was found although no script failed: someone deleted a list of the queue. */
  lookForStrays(): void {
    this.#hasStrays = true
  }

  /**
   * Call it when taking or finishing a job failed. If the queue's own keys were damaged, they were the reason, and it repairs only those.
   * Otherwise it removes the job that failed: the one locked with this token, or `finished` if that is active and has no lock. Returns
   * whether it removed a job.
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

  /** Call it when renewing locks failed. Returns whether it removed a damaged lock, so that it is worth trying again. */
  async freeLocksAfter(error: unknown): Promise<boolean> {
    return isScriptError(error) && (await this.#eval<number>(FREE_LOCKS, [])) > 0
  }

  /** Deletes those of the queue's own keys that BullMQ cannot have written. Jobs that were listed there become strays. */
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
    // Jobs move on to `active`, which is read last, so one that moves meanwhile is not missed. One that moved back has another state.
    for (const list of ['wait', 'paused', 'active'])
      for await (const jobIds of this.#pages(list)) for (const jobId of jobIds) suspects.delete(jobId)
    const left = [...suspects]
    suspects.clear()
    for (let from = 0; from < left.length; from += PAGE / 2) {
      const page = left.slice(from, from + PAGE / 2)
      const [again, ...removed] = await this.#eval<[string, ...string[]]>(REMOVE_STRAYS, page.flat())
      // A locked one is left to its worker, which will find that it cannot finish it. The next search removes it then.
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

  /** Finds jobs by scanning Redis for their keys, because strays are in no list. */
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

/** Its message goes to the log, so it names the key and says what happens next. */
class ForeignKey extends Error {
  constructor(key: string) {
    super(
      `${key} was not what the queue writes; deleted it, and the sweeper makes the jobs again that it had`,
    )
    this.name = 'ForeignKey'
  }
}

/** Redis ran the script, which failed because of a key's content. Failures of the server have other codes, such as OOM or READONLY. */
const isScriptError = (error: unknown): boolean =>
  error instanceof Error && error.name === 'ReplyError' && /^(WRONGTYPE|ERR) /.test(error.message)

/** Thrown by `JSON.parse`, or by code that got another JSON value where it expects an object. */
const isParseError = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'SyntaxError' || error.name === 'TypeError')
