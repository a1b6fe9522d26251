import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Db } from '@signet/db'
import { createTestDatabase, jsonLines, lockWaiters, type TestDatabase, waitFor } from '@signet/testkit'
import { watchProcess } from '@signet/testkit/open-api'
import { startOtlpCollector } from '@signet/testkit/otlp'
import { anEmail, PASSWORD, post } from './support/api.js'
import { ANY_PORT, MAIN, portOf, requiredEnv } from './support/process.js'

let database: TestDatabase
let folder: string
const running: ReturnType<typeof spawn>[] = []
const ends: (() => void)[] = []
beforeEach(async () => {
  database = await createTestDatabase({ key: 'auth:empty', migrate: () => Promise.resolve() })
  folder = mkdtempSync(join(tmpdir(), 'signet-auth-'))
})
afterEach(async () => {
  for (const child of running.splice(0)) child.kill('SIGKILL')
  try {
    for (const end of ends.splice(0)) end()
  } finally {
    rmSync(folder, { recursive: true })
    await database.drop()
  }
})

/** Starts the built program in a separate folder, so that it does not read a developer's `.env`. */
function start(args: string[], env: Record<string, string> = {}, { isWatched = false } = {}) {
  const watched = watchProcess(folder, isWatched ? { auth: 0 } : {})
  ends.push(watched.end)
  const child = spawn(process.execPath, [...watched.args, MAIN, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...watched.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.push(child)
  const seen = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (seen.stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (seen.stderr += chunk.toString()))
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...seen }))
  return { child, seen, ended }
}

/** Resolves when the program listens. Unless `isWatched` is false, each answer must be one that the API document promises. */
async function serve(env: Record<string, string>, { isWatched = true } = {}) {
  const program = start([], env, { isWatched })
  return { ...program, url: `http://127.0.0.1:${await portOf(program.child.stdout)}` }
}

const environment = (): Record<string, string> => ({
  ...requiredEnv(database.url),
  AUTH_EXTERNAL_EMAIL_ENABLED: 'false',
  ...ANY_PORT,
})

describe('the commands of the process', () => {
  it('version and --help need no configuration', async () => {
    expect(await start(['version']).ended).toEqual({ code: 0, stdout: 'signet-auth 0.1.0\n', stderr: '' })
    const help = await start(['--help']).ended
    expect(help.code).toBe(0)
    for (const command of ['serve', 'migrate', 'version']) expect(help.stdout).toContain(command)
  })

  it('exits with 2 for an unknown command', async () => {
    expect(await start(['sevre']).ended).toMatchObject({ code: 2, stdout: '' })
  })

  it.each([[], ['serve'], ['migrate']])(
    'names every problem of the configuration and exits with 1: %j',
    async (...args) => {
      const { code, stderr } = await start(args, { AUTH_JWT_EXP: 'soon', AUTH_PASSWORD_MIN_LENGTH: '73' })
        .ended
      expect(code).toBe(1)
      for (const name of [
        'AUTH_SITE_URL',
        'AUTH_API_EXTERNAL_URL',
        'AUTH_DB_DRIVER',
        'DATABASE_URL',
        'AUTH_JWT_SECRET',
        'AUTH_JWT_EXP',
        'AUTH_SMTP_HOST',
        'AUTH_PASSWORD_MIN_LENGTH',
      ])
        expect(stderr).toContain(name)
      expect(jsonLines(stderr)).toHaveLength(1)
      expect(stderr).not.toMatch(/\n\s+at /)
    },
  )

  it('says what is missing for `keys`: a schema, or a database', async () => {
    expect(await start(['keys', 'list'], environment()).ended).toEqual({
      code: 1,
      stdout: '',
      stderr: 'The database has no signing keys, because it was not migrated. Run `auth migrate` first.\n',
    })
    const away = { ...environment(), DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
    expect(await start(['keys', 'list'], away).ended).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^Cannot connect to the database \(AUTH_DB_DATABASE_URL or DATABASE_URL\): .*ECONNREFUSED.*\n$/,
      ) as unknown,
    })
  })

  it('logs migrations as JSON lines, also when they fail', async () => {
    const first = await start(['migrate'], environment()).ended
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(jsonLines(first.stdout)).toMatchObject([{ level: 'info', msg: 'migrated', component: 'api' }])
    const second = await start(['migrate'], environment()).ended
    expect(jsonLines(second.stdout)).toMatchObject([{ msg: 'nothing to migrate', migrations: [] }])
    const refused = { ...environment(), DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
    const failed = await start(['migrate'], refused).ended
    expect(failed).toMatchObject({ code: 1, stdout: '' })
    expect(jsonLines(failed.stderr)).toMatchObject([
      {
        level: 'fatal',
        problems: [
          expect.stringMatching(/^cannot connect to the database \(AUTH_DB_DATABASE_URL or DATABASE_URL\): /),
        ],
      },
    ])
  })

  it('without an argument migrates and serves; two replicas may start on one empty database at once', async () => {
    const replicas = await Promise.all([serve(environment()), serve(environment())])
    for (const { url } of replicas) expect((await fetch(`${url}/health`)).status).toBe(200)
    for (const { child } of replicas) child.kill('SIGTERM')
    for (const { ended } of replicas) expect(await ended).toMatchObject({ code: 0, stderr: '' })
    expect(await start(['migrate'], environment()).ended).toMatchObject({ code: 0 })
  })

  it('finishes requests in flight before it stops, and accepts no new ones', async () => {
    const autoconfirm = { AUTH_EXTERNAL_EMAIL_ENABLED: 'true', AUTH_MAILER_AUTOCONFIRM: 'true' }
    const smtp = { AUTH_SMTP_HOST: '127.0.0.1', AUTH_SMTP_PORT: '1', AUTH_SMTP_ADMIN_EMAIL: 'a@example.com' }
    // The request may wait 5 s for a lock, and nothing else may keep the process busy. The drain before the listener closes has its own
    // test.
    const drain = { AUTH_API_DRAIN_DURATION: '0' }
    const settings = { ...environment(), ...autoconfirm, ...smtp, ...drain }
    const { child, ended, ...server } = await serve(settings, { isWatched: false })
    const { body } = await post(server, '/signup', { email: anEmail(), password: PASSWORD })
    const db = new Db({ connectionString: database.url })
    try {
      const { refresh } = await db.transaction(async (tx) => {
        await tx.query('select 1 from sessions for update')
        const refresh = post(server, '/token?grant_type=refresh_token', {
          refresh_token: body['refresh_token'],
        })
        await lockWaiters(db, 1)
        child.kill('SIGTERM')
        await waitFor(() =>
          fetch(`${server.url}/health`).then(
            () => false,
            () => true,
          ),
        )
        return { refresh }
      })
      expect((await refresh).status).toBe(200)
      expect(await ended).toMatchObject({ code: 0 })
    } finally {
      await db.close()
    }
  })

  it('sends traces over gRPC when configured, and flushes them when it stops', async () => {
    const collector = await startOtlpCollector()
    try {
      const { child, ended, url } = await serve({
        ...environment(),
        AUTH_TRACING_ENABLED: 'true',
        OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.grpcUrl,
        OTEL_BSP_SCHEDULE_DELAY: '600000',
      })
      expect((await fetch(`${url}/settings`)).status).toBe(200)
      child.kill('SIGTERM')
      expect(await ended).toMatchObject({ code: 0, stderr: '' })
      expect(collector.spans.map(({ name }) => name)).toContain('GET /settings')
      expect(new Set(collector.messages.map(({ via }) => via))).toEqual(new Set(['grpc']))
    } finally {
      await collector.close()
    }
  })

  it('names an unsupported collector protocol and the supported ones', async () => {
    const { code, stderr } = await start([], { ...environment(), OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' })
      .ended
    expect(code).toBe(1)
    expect(stderr).toContain('OTEL_EXPORTER_OTLP_PROTOCOL must be one of http/protobuf, grpc')
  })

  it('reads .env with lower priority than the environment, and warns of unsupported variables', async () => {
    const { PORT: _, ...rest } = environment()
    writeFileSync(join(folder, '.env'), 'PORT=0\nAUTH_JWT_EXP=60\nOPERATOR_TOKEN=secret-of-an-operator\n')
    const { child, seen, ended, url } = await serve({ ...rest, AUTH_JWT_EXP: '120' })
    expect(new URL(url).port).not.toBe('8081') // the default
    child.kill('SIGTERM')
    expect(await ended).toMatchObject({ code: 0 })
    const warnings = seen.stdout.split('\n').filter((line) => line.includes('OPERATOR_TOKEN'))
    expect(warnings).toHaveLength(1)
    expect(JSON.parse(warnings[0] ?? '{}')).toMatchObject({ level: 'warning', variable: 'OPERATOR_TOKEN' })
    expect(seen.stdout).not.toContain('secret-of-an-operator')
  })
})
