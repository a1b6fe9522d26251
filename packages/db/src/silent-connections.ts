import pg from 'pg'

export type SilentConnectionsOptions = { connectionString: string; applicationName?: string }

/** A pool or a connection, which runs statements. */
export type Target = {
  query<R extends pg.QueryResultRow>(statement: pg.QueryConfig): Promise<pg.QueryResult<R>>
}

/** Parts of the driver's connection that its types do not declare. */
type Internals = {
  processID: number | null
  connection: { stream: { destroy(error: Error): void; bytesRead: number; writableLength: number } }
}

/**
 * `seen` holds the numbers of bytes received and still to be sent when the server was last idle. If they change, the connection is
 * alive.
 */
type Waiting = { since: number; seen?: string }

/** After this time, the server is asked whether it is working on the statement. */
const SUSPICIOUS_MS = 1_000
const INTERVAL_MS = 500
const PROBE_TIMEOUT_MS = 1_000

/**
 * Closes connections that wait for the result of a statement while the server is idle. After packets were dropped, TCP can stay silent
 * for as long again as the outage lasted, and a time limit would have to be longer than the slowest statement. Instead, this asks the
 * server on another connection. A statement that is slow or waits for a lock is active there and continues.
 */
export class SilentConnections {
  readonly #waiting = new Map<pg.ClientBase, Waiting>()
  readonly #idle = new Set<pg.PoolClient>()
  #timer: NodeJS.Timeout | undefined
  #probe: Promise<pg.Client> | undefined

  constructor(
    pool: pg.Pool,
    private readonly options: SilentConnectionsOptions,
  ) {
    pool.on('release', (_error, client) => this.#idle.add(client))
    for (const event of ['acquire', 'remove'] as const) pool.on(event, (client) => this.#idle.delete(client))
  }

  /** Rejects a statement as if its connection were lost if the server is not working on it. */
  watched(target: pg.Pool | pg.PoolClient): Target {
    return {
      query: async <R extends pg.QueryResultRow>(statement: pg.QueryConfig) => {
        if (!(target instanceof pg.Pool)) return this.#watch(target, () => target.query<R>(statement))
        const client = await target.connect()
        // As the pool does: without a listener, a lost connection would end the process, and a connection that failed must not be
        // reused.
        let broken: Error | undefined
        const onError = (error: Error) => (broken = error)
        client.on('error', onError)
        try {
          return await this.#watch(client, () => client.query<R>(statement))
        } catch (error) {
          broken ??= error as Error
          throw error
        } finally {
          client.off('error', onError)
          client.release(broken)
        }
      },
    }
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#endProbe()
  }

  async #watch<T>(client: pg.ClientBase, statement: () => Promise<T>): Promise<T> {
    this.#waiting.set(client, { since: performance.now() })
    this.#timer ??= setTimeout(() => void this.#look(), SUSPICIOUS_MS).unref()
    try {
      return await statement()
    } finally {
      this.#waiting.delete(client)
    }
  }

  async #look(): Promise<void> {
    const now = performance.now()
    const suspicious = [...this.#waiting].filter(([, { since }]) => now - since >= SUSPICIOUS_MS)
    if (suspicious.length === 0) this.#endProbe()
    else await this.#examine(suspicious).catch(() => this.#endProbe())
    this.#timer =
      this.#waiting.size === 0 ? undefined : setTimeout(() => void this.#look(), INTERVAL_MS).unref()
  }

  async #examine(suspicious: readonly [pg.ClientBase, Waiting][]): Promise<void> {
    this.#probe ??= this.#connect()
    const probe = await this.#probe
    // If the server became idle just now, its response may still be on the way.
    const { rows } = await probe.query<{ pid: number }>(
      `select pid from pg_stat_activity where pid = any ($1::integer[]) and usename = current_user
         and state like 'idle%' and state_change < clock_timestamp() - interval '0.5 seconds'`,
      [suspicious.map(([client]) => internalsOf(client).processID)],
    )
    const idle = new Set(rows.map(({ pid }) => pid))
    const dead: pg.ClientBase[] = []
    for (const [client, waiting] of suspicious) {
      const { processID, connection } = internalsOf(client)
      // The connection is running another statement by now, or none.
      if (this.#waiting.get(client) !== waiting || processID === null) continue
      const { bytesRead, writableLength } = connection.stream
      const seen = idle.has(processID) ? `${bytesRead} ${writableLength}` : undefined
      if (seen !== undefined && seen === waiting.seen) dead.push(client)
      waiting.seen = seen
    }
    if (dead.length === 0) return
    // Closes the idle connections first: they are probably dead too, and a retry must not get one of them.
    for (const client of [...this.#idle, ...dead]) destroy(client)
  }

  async #connect(): Promise<pg.Client> {
    const { connectionString, applicationName = 'signet' } = this.options
    const client = new pg.Client({
      connectionString,
      application_name: `${applicationName}-probe`,
      connectionTimeoutMillis: PROBE_TIMEOUT_MS,
      query_timeout: PROBE_TIMEOUT_MS,
    })
    client.on('error', () => undefined)
    await client.connect()
    return client
  }

  #endProbe(): void {
    // `end` would wait for a server that does not respond.
    this.#probe?.then(destroy, () => undefined)
    this.#probe = undefined
  }
}

const internalsOf = (client: pg.ClientBase): Internals => client as unknown as Internals

/** `isUnavailable` recognizes the message. */
const destroy = (client: pg.ClientBase): void =>
  internalsOf(client).connection.stream.destroy(new Error('Connection terminated: the server is silent'))
