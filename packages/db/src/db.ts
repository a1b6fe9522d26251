import pTimeout from 'p-timeout'
import pg from 'pg'
import { ConnectionGate } from './connection-gate.js'
import { NOTICE_LOST_CLIENTS } from './lost-clients.js'
import { isUnanswered } from './pg-errors.js'
import { SilentConnections, type Target } from './silent-connections.js'

/** What a store function needs: the pool or a transaction. */
export type Queryable = {
  query<R extends object = Record<string, unknown>>(
    text: string | { name: string; text: string },
    values?: readonly unknown[],
  ): Promise<{ rows: R[]; rowCount: number | null }>
}

declare const inTransaction: unique symbol
/** A connection inside a transaction. Store functions that are only safe there require this type. */
export type Tx = Queryable & {
  readonly [inTransaction]: true
  /** Calls `work` once the transaction is committed, and never when it is rolled back. `work` must not throw. */
  afterCommit(work: () => void): void
  /** Runs `work`, then rolls back everything it changed and drops its `afterCommit` callbacks. */
  rehearse(work: () => Promise<void>): Promise<void>
}

/** Wraps each statement (by the name of a prepared one, otherwise its text) and each `transaction`. */
export type TraceStatement = <T>(statement: string, work: () => Promise<T>) => Promise<T>

export type DbOptions = {
  connectionString: string
  /**
   * Maximum number of connections. Callers wait for a free one for up to `connectionTimeoutMs`. `unlimited` leaves the maximum to the
   * server, but opens more than ten connections only to replace those that have been in use for longer than `slowMs`: others would only
   * compete with the first ten.
   */
  max?: number | 'unlimited'
  /** For `unlimited`, in milliseconds; 50 by default. */
  slowMs?: number
  connectionTimeoutMs?: number
  /** Shown in pg_stat_activity. */
  applicationName?: string
  /**
   * The server cancels a statement after this many milliseconds; 0 means no limit. If the server does not respond at all, the
   * client closes the connection shortly afterwards.
   */
  statementTimeoutMs?: number
  /** Cancels a statement that waits longer than this for a lock (`isLockTimeout`), in milliseconds; 0 means no limit. */
  lockTimeoutMs?: number
  /**
   * Never plans a table scan if an index works, for services whose statements are lookups by key. A named statement keeps the plan that
   * its connection made for its first use. A plan made while a table is small scans the whole table, and keeps doing so until the table
   * is analyzed, so every statement on a fast-growing table would be slower than the last.
   */
  preferIndexes?: boolean
  /**
   * Plans each named statement once per connection, for any parameters. Use it for a few statements that run all the time: otherwise
   * PostgreSQL may plan them for every execution. One plan must suit all parameters; if none does, use `search`.
   */
  planOnce?: boolean
  /** Makes every transaction read-only, for pages that only show data: PostgreSQL rejects statements that would change something. */
  readOnly?: boolean
  /**
   * Asks the server about statements that take longer than a second, and closes a connection if the server is not working on its
   * statement.
   */
  closeSilent?: boolean
  /** Called when an idle connection breaks. Without a listener, that would crash the process. */
  onIdleError?: (error: Error) => void
  /** For traces. Never receives parameters. */
  trace?: TraceStatement | undefined
}

/** Time for the server's own timeout error to arrive. */
const ANSWER_GRACE_MS = 2000
const DEFAULT_CONNECTIONS = 10
const DEFAULT_CONNECTION_TIMEOUT_MS = 5000
const DEFAULT_SLOW_MS = 50
/**
 * Firewalls and load balancers drop idle connections, often after six minutes. By default, Linux sends the first keep-alive after two
 * hours.
 */
const QUIET_MS = 60_000

/** A connection pool. Single queries commit on their own; `transaction` groups several. */
export class Db implements Queryable {
  readonly pool: pg.Pool
  readonly #trace: TraceStatement | undefined
  readonly #gate: ConnectionGate | undefined
  readonly #silent: SilentConnections | undefined
  #closed: Promise<void> | undefined

  constructor(options: DbOptions) {
    const {
      statementTimeoutMs = 0,
      connectionTimeoutMs: timeoutMs = DEFAULT_CONNECTION_TIMEOUT_MS,
      slowMs = DEFAULT_SLOW_MS,
      max = DEFAULT_CONNECTIONS,
    } = options
    this.#trace = options.trace
    // Avoids opening a connection for each query of a burst (decision 0136).
    if (max === 'unlimited')
      this.#gate = new ConnectionGate({ width: DEFAULT_CONNECTIONS, slowMs, timeoutMs })
    this.pool = new pg.Pool({
      connectionString: options.connectionString,
      max: max === 'unlimited' ? Number.MAX_SAFE_INTEGER : max,
      connectionTimeoutMillis: timeoutMs,
      application_name: options.applicationName ?? 'signet',
      statement_timeout: statementTimeoutMs,
      // Without this, only TCP detects a server that has stopped responding, after 15 minutes to two hours.
      query_timeout: statementTimeoutMs > 0 ? statementTimeoutMs + ANSWER_GRACE_MS : 0,
      lock_timeout: options.lockTimeoutMs ?? 0,
      options: sessionOptions(options),
      // Keeps one connection open: opening one, and planning its statements again, would take most of the time of the first request
      // after a pause.
      min: 1,
      keepAlive: true,
      keepAliveInitialDelayMillis: QUIET_MS,
    })
    this.pool.on('error', options.onIdleError ?? (() => undefined))
    // The server may close a connection in the same packet that opens it, before anything else listens for errors. The next statement
    // then fails.
    this.pool.on('connect', (client) => client.on('error', () => undefined))
    if (options.closeSilent) this.#silent = new SilentConnections(this.pool, options)
  }

  query<R extends object>(text: string | { name: string; text: string }, values: readonly unknown[] = []) {
    return this.#admitted(() => run<R>(this.#target(this.pool), text, values, this.#trace))
  }

  /**
   * Runs `work` between `begin` and `commit`. Any error rolls back and is rethrown. To keep changes despite an error (a replayed
   * token revokes its session), return the error from `work` and throw it after the commit.
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const whole = () => this.#admitted(() => this.#transaction(work))
    return this.#trace ? this.#trace('transaction', whole) : whole()
  }

  /**
   * Runs `work` in a transaction whose statements are planned for their parameters, despite `planOnce`. The best plan for a text that
   * nearly every row contains takes seconds for a text that few rows contain, and vice versa.
   */
  search<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.transaction(async (tx) => {
      await tx.query('set local plan_cache_mode = force_custom_plan')
      return work(tx)
    })
  }

  #target(target: pg.Pool | pg.PoolClient): Target {
    return this.#silent ? this.#silent.watched(target) : target
  }

  async #admitted<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#gate) return work()
    const leave = await this.#gate.enter()
    try {
      return await work()
    } finally {
      leave()
    }
  }

  async #transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const client = await this.pool.connect()
    let broken: Error | undefined
    const onError = (error: Error) => (broken = error)
    client.on('error', onError)
    const target = this.#target(client)
    try {
      await target.query({ text: 'begin' })
      const committed: (() => void)[] = []
      const tx = {
        ...queryable(target, this.#trace),
        afterCommit: (then: () => void) => void committed.push(then),
        async rehearse(scene: () => Promise<void>) {
          const before = committed.length
          await target.query({ text: 'savepoint rehearsal' })
          await scene()
          await target.query({ text: 'rollback to savepoint rehearsal' })
          committed.splice(before)
        },
      }
      const result = await work(tx as Tx)
      await target.query({ text: 'commit' })
      for (const then of committed) then()
      return result
    } catch (error) {
      // A rollback would only queue behind the unanswered statement.
      if (isUnanswered(error)) broken = error
      else await target.query({ text: 'rollback' }).catch((failure: Error) => (broken = failure))
      throw error
    } finally {
      client.off('error', onError)
      client.release(broken)
    }
  }

  /**
   * Runs `work` on a dedicated connection. Do not use it for session locks: session state outlives a client that disappears. Use a
   * transaction for locks.
   */
  connection<T>(work: (connection: Queryable) => Promise<T>): Promise<T> {
    return this.#admitted(() => this.#connection(work))
  }

  async #connection<T>(work: (connection: Queryable) => Promise<T>): Promise<T> {
    const client = await this.pool.connect()
    let broken: Error | undefined
    const onError = (error: Error) => (broken = error)
    client.on('error', onError)
    try {
      return await work(queryable(this.#target(client), this.#trace))
    } catch (error) {
      broken ??= error instanceof Error && !('severity' in error) ? error : undefined
      throw error
    } finally {
      client.off('error', onError)
      client.release(broken)
    }
  }

  /** Resolves if the database responds within `timeoutMs`. For readiness checks. */
  async ping(timeoutMs = 1000): Promise<void> {
    const message = new Error(`no answer from the database in ${timeoutMs} ms`)
    await pTimeout(this.query('select 1'), { milliseconds: timeoutMs, message })
  }

  /** May be called more than once. The pool itself would throw on a second call, which would stop the rest of the clean-up. */
  close(): Promise<void> {
    this.#silent?.close()
    return (this.#closed ??= this.pool.end())
  }
}

/** These become the startup parameter `options`, which an `options` parameter in the connection string replaces. */
function sessionOptions({ preferIndexes, planOnce, readOnly }: DbOptions): string {
  const settings = [
    NOTICE_LOST_CLIENTS,
    ...(preferIndexes ? ['-c enable_seqscan=off'] : []),
    ...(planOnce ? ['-c plan_cache_mode=force_generic_plan'] : []),
    ...(readOnly ? ['-c default_transaction_read_only=on'] : []),
  ]
  return settings.join(' ')
}

const queryable = (client: Target, trace: TraceStatement | undefined): Queryable => ({
  query: (text, values = []) => run(client, text, values, trace),
})

function run<R extends object>(
  target: Target,
  text: string | { name: string; text: string },
  values: readonly unknown[],
  trace: TraceStatement | undefined,
) {
  const statement = typeof text === 'string' ? { text } : text
  if (!trace) return send<R>(target, statement, values)
  return trace('name' in statement ? statement.name : statement.text, () =>
    send<R>(target, statement, values),
  )
}

async function send<R extends object>(
  target: Target,
  statement: { name?: string; text: string },
  values: readonly unknown[],
) {
  const { rows, rowCount } = await target.query<R & pg.QueryResultRow>({ ...statement, values: [...values] })
  return { rows: rows as R[], rowCount }
}
