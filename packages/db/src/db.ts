import pg from 'pg'
import { isUnanswered } from './pg-errors.js'

/** What a store function needs: the pool or a transaction. */
export type Queryable = {
  query<R extends object = Record<string, unknown>>(
    text: string | { name: string; text: string },
    values?: readonly unknown[],
  ): Promise<{ rows: R[]; rowCount: number | null }>
}

declare const inTransaction: unique symbol
/** A connection inside a transaction. Store functions that are only safe there ask for it by this type. */
export type Tx = Queryable & { readonly [inTransaction]: true }

/** Is told of each statement (the name of a prepared one, else its text) and of `transaction`, around the work itself. */
export type TraceStatement = <T>(statement: string, work: () => Promise<T>) => Promise<T>

export type DbOptions = {
  connectionString: string
  /** Connections at most; the pool waits for a free one up to `connectionTimeoutMs`. */
  max?: number
  connectionTimeoutMs?: number
  /** Shown in pg_stat_activity. */
  applicationName?: string
  /**
   * Ends a statement on the server after this time; 0 is no limit. A server that does not even say so, because its machine
   * is gone without a word, is given up a moment later, and the connection with it.
   */
  statementTimeoutMs?: number
  /** Ends a statement that waits for a lock longer than this (`isLockTimeout`); 0 is no limit. */
  lockTimeoutMs?: number
  /**
   * Never plans to read a whole table where an index serves, for services whose statements are lookups by key. A named
   * statement keeps the plan that was made when its connection first used it: made while a table is small, that plan reads
   * the whole of it, and goes on doing so until the table is analysed, a minute or more in which a young or fast-growing
   * table makes each statement dearer than the one before.
   */
  preferIndexes?: boolean
  /**
   * Plans each statement for any parameters, named ones once per connection. For a few statements that run all the time:
   * otherwise PostgreSQL may plan one anew for every use of it.
   */
  planOnce?: boolean
  /** Called when an idle connection breaks; without a listener that would end the process. */
  onIdleError?: (error: Error) => void
  /** For traces; parameters are not shown to it. */
  trace?: TraceStatement | undefined
}

/** For the server's own word that the time is over to arrive. */
const ANSWER_GRACE_MS = 2000

/** A connection pool. Queries on it commit by themselves; `transaction` gives several statements one fate. */
export class Db implements Queryable {
  readonly pool: pg.Pool
  readonly #trace: TraceStatement | undefined

  constructor(options: DbOptions) {
    const { statementTimeoutMs = 0 } = options
    this.#trace = options.trace
    this.pool = new pg.Pool({
      connectionString: options.connectionString,
      max: options.max ?? 10,
      connectionTimeoutMillis: options.connectionTimeoutMs ?? 5000,
      application_name: options.applicationName ?? 'signet',
      statement_timeout: statementTimeoutMs,
      // Otherwise TCP decides how long a silent server is waited for: a quarter of an hour, or two hours.
      query_timeout: statementTimeoutMs > 0 ? statementTimeoutMs + ANSWER_GRACE_MS : 0,
      lock_timeout: options.lockTimeoutMs ?? 0,
      options: plannerOptions(options),
      keepAlive: true,
    })
    this.pool.on('error', options.onIdleError ?? (() => undefined))
  }

  query<R extends object>(text: string | { name: string; text: string }, values: readonly unknown[] = []) {
    return run<R>(this.pool, text, values, this.#trace)
  }

  /**
   * Runs `work` between `begin` and `commit`; any error rolls back and is thrown on. Verdicts that must survive (a
   * replayed token revokes its family) are returned from `work` and thrown by the caller after the commit.
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#trace ? this.#trace('transaction', () => this.#transaction(work)) : this.#transaction(work)
  }

  async #transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const client = await this.pool.connect()
    let broken: Error | undefined
    const onError = (error: Error) => (broken = error)
    client.on('error', onError)
    try {
      await client.query('begin')
      const result = await work(queryable(client, this.#trace) as Tx)
      await client.query('commit')
      return result
    } catch (error) {
      // It would stand in line behind the statement that nobody answers.
      if (isUnanswered(error)) broken = error
      else await client.query('rollback').catch((failure: Error) => (broken = failure))
      throw error
    } finally {
      client.off('error', onError)
      client.release(broken)
    }
  }

  /** Runs `work` on one connection of its own, for session-level state such as advisory locks. */
  async connection<T>(work: (connection: Queryable) => Promise<T>): Promise<T> {
    const client = await this.pool.connect()
    let broken: Error | undefined
    const onError = (error: Error) => (broken = error)
    client.on('error', onError)
    try {
      return await work(queryable(client, this.#trace))
    } catch (error) {
      broken ??= error instanceof Error && !('severity' in error) ? error : undefined
      throw error
    } finally {
      client.off('error', onError)
      client.release(broken)
    }
  }

  /**
   * For a caller who may give up: what still waits for its connection when `signal` is aborted is not sent any more. Only
   * the server ends what was sent, after `statementTimeoutMs`.
   */
  until(signal: AbortSignal): Queryable {
    return {
      query: async <R extends object>(
        text: string | { name: string; text: string },
        values: readonly unknown[] = [],
      ) => {
        const result = await this.connection((connection) =>
          signal.aborted ? Promise.resolve(null) : connection.query<R>(text, values),
        )
        if (result === null) throw signal.reason
        return result
      },
    }
  }

  /** Resolves when the database answers within `timeoutMs`, for readiness checks. */
  async ping(timeoutMs = 1000): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const limit = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer from the database in ${timeoutMs} ms`)), timeoutMs)
    })
    try {
      await Promise.race([this.query('select 1'), limit])
    } finally {
      clearTimeout(timer)
    }
  }

  close(): Promise<void> {
    return this.pool.end()
  }
}

/** A startup parameter, in place of which an `options` in the connection string would be used. */
function plannerOptions({ preferIndexes, planOnce }: DbOptions): string | undefined {
  const settings = [
    ...(preferIndexes ? ['-c enable_seqscan=off'] : []),
    ...(planOnce ? ['-c plan_cache_mode=force_generic_plan'] : []),
  ]
  return settings.join(' ') || undefined
}

const queryable = (client: pg.PoolClient, trace: TraceStatement | undefined): Queryable => ({
  query: (text, values = []) => run(client, text, values, trace),
})

function run<R extends object>(
  target: pg.Pool | pg.PoolClient,
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
  target: pg.Pool | pg.PoolClient,
  statement: { name?: string; text: string },
  values: readonly unknown[],
) {
  const { rows, rowCount } = await target.query<R & pg.QueryResultRow>({ ...statement, values: [...values] })
  return { rows: rows as R[], rowCount }
}
