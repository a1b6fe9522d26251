import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { startGuarded } from './child.js'
import { ACCOUNT, postgresPrograms, serverFolder } from './postgres-installation.js'
import { startServer } from './server-process.js'

export interface PostgresOptions {
  /** Created if necessary. As root, the real path may differ: see `serverFolder`. */
  dataDir: string
  /** Port on 127.0.0.1. If omitted, a free one. */
  port?: number
  /** Defaults to `<dataDir>.log`. */
  logFile?: string
  /** Trades durability for speed. Only for data that may be lost. */
  test?: boolean
  /** Additional parameters, as `name=value`. */
  settings?: readonly string[]
}

export type PostgresServer = Awaited<ReturnType<typeof startPostgres>>

const USER = 'signet'
const ANSWER_MS = 20_000
const SETTINGS = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200']
const DURABILITY_OFF = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']

/** Starts the embedded PostgreSQL on 127.0.0.1 and resolves when it accepts connections. It ends with this process. */
export async function startPostgres({ test = false, settings = [], port, ...options }: PostgresOptions) {
  const programs = postgresPrograms()
  const dataDir = serverFolder(options.dataDir)
  const logFile = options.logFile ?? `${options.dataDir}.log`
  mkdirSync(dirname(logFile), { recursive: true })
  const password = initialize(join(programs, 'initdb'), dataDir)
  const all = [...SETTINGS, ...(test ? DURABILITY_OFF : []), ...settings]
  const server = await startServer({
    ...{ name: 'PostgreSQL', port },
    launch: (port) =>
      startGuarded({
        command: join(programs, 'postgres'),
        args: ['-D', dataDir, '-p', String(port), ...all.flatMap((setting) => ['-c', setting])],
        stopSignal: 'INT',
        ...{ ...ACCOUNT, logFile, cwd: dataDir },
      }),
    isReady: ({ pid }) => saysReady(dataDir, pid),
    // An earlier server that was killed a moment ago still holds the folder.
    passing: /lock file "postmaster.pid" already exists|shared memory block .* is still in use/,
  })
  const url = (database: string): string =>
    `postgres://${USER}:${password}@127.0.0.1:${server.port}/${database}`
  return {
    ...server,
    /** Connection string of a database on this server, with the superuser's password. */
    url,
    /** Creates a database unless it exists. */
    createDatabase: (name: string): Promise<void> => createDatabase(url('postgres'), name),
  }
}

/** Deletes the data that `startPostgres` keeps for this folder, wherever it put it. */
export function removePostgresData(dataDir: string): void {
  rmSync(serverFolder(dataDir), { recursive: true, force: true })
  rmSync(dataDir, { recursive: true, force: true })
}

/** Creates the cluster on first use. The password keeps other users of the machine out of a superuser's session. */
function initialize(initdb: string, dataDir: string): string {
  const passwordFile = join(dataDir, 'signet-password')
  if (existsSync(passwordFile)) return readFileSync(passwordFile, 'utf8')
  // The password file is written last. Data without it was left by an interrupted initdb.
  rmSync(dataDir, { recursive: true, force: true })
  serverFolder(dataDir)
  const password = randomBytes(18).toString('base64url')
  const pwFile = `${dataDir}.pw`
  writeFileSync(pwFile, password, { mode: 0o600 })
  try {
    if (ACCOUNT.uid !== undefined) chownSync(pwFile, ACCOUNT.uid, ACCOUNT.uid)
    // Nobody can guess 144 random bits, so connections need not spend time on iterations (RFC 5802 section 2.2).
    const access = ['-U', USER, '-A', 'scram-sha-256', `--pwfile=${pwFile}`, '--set=scram_iterations=1']
    const args = ['-D', dataDir, ...access, '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync']
    execFileSync(initdb, args, { ...ACCOUNT, cwd: '/', stdio: 'pipe' })
  } finally {
    rmSync(pwFile, { force: true })
  }
  writeFileSync(passwordFile, password, { mode: 0o600 })
  return password
}

/** The server writes its state into postmaster.pid. The first line shows whether the file is from this server. */
function saysReady(dataDir: string, pid: number): boolean {
  try {
    const lines = readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').trimEnd().split('\n')
    return Number(lines[0]) === pid && lines.at(-1)?.trim() === 'ready'
  } catch {
    return false // not written yet
  }
}

/** Creates a database on any server, given the URL of another database there. Does nothing if it exists. */
export const createDatabase = (adminUrl: string, name: string): Promise<void> =>
  inPostgres(adminUrl, (client) =>
    client.query(`create database ${pg.escapeIdentifier(name)}`).catch((error: { code?: string }) => {
      if (error.code !== '42P04') throw error
    }),
  )

export async function inPostgres(url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: ANSWER_MS })
  try {
    await client.connect()
    await work(client)
  } finally {
    await client.end()
  }
}
