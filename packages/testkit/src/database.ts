import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { fromEnvironment } from './environment.js'

type Migrate = (url: string) => Promise<void>

export interface TestDatabaseOptions {
  /** Names the template: databases with the same key share one migrated template. See `migrationsKey`. */
  key: string
  /** Brings an empty database to the schema under test and closes its connections. Runs once per key. */
  migrate: Migrate
}

export interface TestDatabase {
  url: string
  /** Ends the remaining connections and drops the database. */
  drop(): Promise<void>
}

const OBJECT_IN_USE = '55006'
const COPY_ATTEMPTS = 50
const END_ATTEMPTS = 25

/** Kept open for the next test file of the worker: a connection costs more than most statements. */
let administrators: pg.Pool | undefined
/** Templates that this process is creating or knows to be complete. */
const templates = new Map<string, Promise<void>>()

/** A separate, migrated database: a copy of a template that is created once per key, however many jest workers run in parallel. */
export async function createTestDatabase({ key, migrate }: TestDatabaseOptions): Promise<TestDatabase> {
  const adminUrl = fromEnvironment('SIGNET_TEST_DATABASE_URL')
  const admin = (administrators ??= openPool(adminUrl))
  const template = `signet_template_${sha256(key).slice(0, 24)}`
  const name = `signet_test_${process.pid}_${randomBytes(6).toString('hex')}`
  await templateOnce(adminUrl, template, migrate)
  await copy(admin, name, template)
  return {
    url: withDatabase(adminUrl, name),
    drop: async () => {
      await sessionsEnd(admin, name)
      await admin.query(`drop database if exists ${pg.escapeIdentifier(name)} with (force)`)
    },
  }
}

function openPool(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 2, idleTimeoutMillis: 0, allowExitOnIdle: true })
  pool.on('error', () => {}) // an idle connection failed, and the pool opens another one
  return pool
}

const keys = new Map<string, string>()

/** A key that changes with the migration files, which it reads once: `<app>:<hash of the files' names and contents>`. */
export function migrationsKey(app: string, migrationsDir: string): string {
  const key = keys.get(migrationsDir) ?? `${app}:${hashOfFiles(migrationsDir)}`
  keys.set(migrationsDir, key)
  return key
}

function hashOfFiles(folder: string): string {
  const hash = createHash('sha256')
  for (const file of readdirSync(folder).sort()) {
    hash.update(`${file}\n`).update(readFileSync(join(folder, file)))
  }
  return hash.digest('hex')
}

function templateOnce(adminUrl: string, template: string, migrate: Migrate): Promise<void> {
  const known = templates.get(template)
  if (known) return known
  const url = withDatabase(adminUrl, template)
  const made = withClient(adminUrl, (admin) => provideTemplate(admin, { template, url, migrate }))
  templates.set(template, made)
  made.catch(() => templates.delete(template))
  return made
}

/** `datistemplate` marks a template as complete, so one left by an interrupted run is made again. */
async function provideTemplate(
  admin: pg.Client,
  { template, url, migrate }: { template: string; url: string; migrate: Migrate },
): Promise<void> {
  await admin.query('select pg_advisory_lock(hashtext($1))', [template])
  try {
    const { rows } = await admin.query<{ complete: boolean }>(
      'select datistemplate as complete from pg_database where datname = $1',
      [template],
    )
    if (rows[0]?.complete) return
    const quoted = pg.escapeIdentifier(template)
    await admin.query(`drop database if exists ${quoted} with (force)`)
    await admin.query(`create database ${quoted}`)
    await migrate(url)
    await admin.query(`alter database ${quoted} with is_template true`)
  } finally {
    await admin.query('select pg_advisory_unlock(hashtext($1))', [template])
  }
}

/** PostgreSQL refuses to copy the template until it has closed the connection of the migration, which may take a moment. */
async function copy(admin: pg.Pool, name: string, template: string): Promise<void> {
  const statement = `create database ${pg.escapeIdentifier(name)} template ${pg.escapeIdentifier(template)} strategy file_copy`
  for (let attempt = 1; ; attempt += 1) {
    try {
      await admin.query(statement)
      return
    } catch (error) {
      if ((error as { code?: string }).code !== OBJECT_IN_USE || attempt === COPY_ATTEMPTS) throw error
      await sleep(20)
    }
  }
}

/**
 * Gives sessions half a second to end by themselves, because a client whose session is terminated reports an error. Sessions that a
 * test left open end when the database is dropped.
 */
async function sessionsEnd(admin: pg.Pool, name: string): Promise<void> {
  for (let attempt = 1; attempt <= END_ATTEMPTS; attempt += 1) {
    const { rowCount } = await admin.query('select from pg_stat_activity where datname = $1 limit 1', [name])
    if (rowCount === 0) return
    await sleep(20)
  }
}

async function withClient(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

function withDatabase(url: string, database: string): string {
  const changed = new URL(url)
  changed.pathname = `/${database}`
  return changed.href
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
