import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import pg from 'pg'
import { NOTICE_LOST_CLIENTS } from './lost-clients.js'

export type MigrateOptions = {
  databaseUrl: string
  /** Name of the environment variable that contains the URL, to mention in errors. */
  setting?: string
  /** Folder with `<timestamp>_name.sql` files. */
  directory: string
  /** Table that records applied migrations. */
  table: string
  /** Values for `{{name}}` in the files. They are inserted into SQL unchanged, so they must be validated identifiers. */
  variables?: Readonly<Record<string, string>>
  /** How long to wait for the server to accept the connection, in milliseconds; 10 seconds by default. */
  connectTimeoutMs?: number
  log?: MigrationLog
}

/** The logger methods that migrations use. */
export type MigrationLog = Readonly<
  Record<'info' | 'warn' | 'error', (message: string, fields?: Readonly<Record<string, unknown>>) => void>
>

/** Cannot connect to the database. The message is for operators and names the setting. */
class ConnectError extends Error {
  override name = 'ConnectError'
}

const CONNECT_TIMEOUT_MS = 10_000
/** After this much silence, TCP asks whether the server is still there. By default, Linux waits for two hours. */
const QUIET_MS = 10_000

const SILENT: MigrationLog = { info: () => undefined, warn: () => undefined, error: () => undefined }

/**
 * Applies missing migrations, each file in its own transaction, and returns their names. Safe to run from several replicas at
 * once: an advisory lock serializes them. There are no down migrations: the next migration fixes mistakes. Rejects with a
 * `ConnectError` if it cannot begin.
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const { variables = {}, log = SILENT, connectTimeoutMs = CONNECT_TIMEOUT_MS } = options
  // Loads the library on demand: it includes a compiler for migrations in TypeScript, and a service that is up to date needs none of
  // it.
  const { runner } = await import('node-pg-migrate')
  // The runner's own client has no listener for a lost connection and is not closed reliably.
  const client = new pg.Client({
    connectionString: options.databaseUrl,
    application_name: 'migrate',
    // Other replicas wait for this session's lock, so it must not outlive a lost client.
    options: NOTICE_LOST_CLIENTS,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: QUIET_MS,
  })
  client.on('error', (error) => log.warn('the connection of the migrations was lost', { error }))
  await client.connect().catch((error: unknown) => {
    const why = whyOf(error, connectTimeoutMs)
    const setting = options.setting === undefined ? '' : ` (${options.setting})`
    throw new ConnectError(`cannot connect to the database${setting}: ${why}`, { cause: error })
  })
  try {
    await noticeOurEnd(client)
    const applied = await runner({
      dbClient: client,
      dir: options.directory,
      migrationsTable: options.table,
      direction: 'up',
      singleTransaction: false,
      advisoryLockMode: 'wait',
      logger: runnerLog(log),
      migrationLoaderStrategies: [
        {
          extensions: ['.sql'],
          loader: (paths) => Promise.all(paths.map((path) => loadSql(path, variables))),
        },
      ],
    })
    const names = applied.map(({ name }) => name)
    log.info(names.length === 0 ? 'nothing to migrate' : 'migrated', { migrations: names })
    return names
  } finally {
    await client.end()
  }
}

/**
 * A server whose statement waits for a lock does not look whether its client is still there, unless told to. Until it looks, it keeps its
 * place in the queue for the lock, in which everybody else then waits. A server on Windows cannot look, and says so.
 */
const noticeOurEnd = (client: pg.Client): Promise<unknown> =>
  client.query(`set client_connection_check_interval = '1s'`).catch(() => undefined)

function whyOf(error: unknown, timeoutMs: number): string {
  const message = error instanceof Error ? error.message : String(error)
  // The driver's words for it.
  return message === 'timeout expired' ? `no answer within ${timeoutMs / 1000} s` : message
}

/** Drops the runner's progress messages, which are prose over several lines. One line at the end says what ran. */
const runnerLog = (log: MigrationLog) => ({
  debug: () => undefined,
  info: () => undefined,
  warn: (text: string) => log.warn('migration runner warning', { text }),
  error: (text: string) => log.error('migration runner error', { text }),
})

async function loadSql(path: string, variables: Readonly<Record<string, string>>) {
  const source = await readFile(path, 'utf8')
  // The whole file runs as one list of statements, so a down part would run right after the rest.
  if (/^\s*--\s*down migration/im.test(source))
    throw new Error(`${basename(path)}: migrations have no down part; correct a mistake with the next one`)
  const sql = source.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = variables[name]
    if (value === undefined) throw new Error(`${basename(path)}: no value for {{${name}}}`)
    return value
  })
  const up = (pgm: { sql(text: string): void }) => pgm.sql(sql)
  return { id: path, filePaths: [path], actions: { up, down: false as const } }
}
