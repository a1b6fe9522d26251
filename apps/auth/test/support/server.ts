import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Inbox } from '@signet/testkit/inbox'
import { listen, type Listener } from '@signet/http'
import { createLogger } from '@signet/telemetry'
import { createTestDatabase, migrationsKey, TestClock, waitFor, type TestDatabase } from '@signet/testkit'
import { createApp } from '../../src/app.js'
import { readConfig } from '../../src/config/read-config.js'
import { createContext, type AuthContext, type Ports } from '../../src/context.js'
import { migrateDatabase } from '../../src/migrations.js'
import { createPasswordHasher, type PasswordHasher } from '../../src/passwords/password-hasher.js'
import { serve } from '../../src/serve.js'
import { startInbox } from './inbox.js'
import { watchDocumented } from './documented-answers.js'

export const SITE = 'https://app.example.com'
/** Lets emails follow one another without a pause. */
export const NO_EMAIL_GAPS = {
  AUTH_SMTP_MAX_FREQUENCY: '0',
  AUTH_MAILER_EMAIL_CHANGE_MAX_FREQUENCY: '0',
  AUTH_MAILER_REAUTHENTICATION_MAX_FREQUENCY: '0',
}
export const JWT_SECRET = 'test-secret-0123456789-abcdefghijklmnopqrstuvwxyz'

type LogLine = Record<string, unknown> & { msg: string }

export type TestServer = {
  url: string
  context: AuthContext
  databaseUrl: string
  clock: TestClock
  inbox: Inbox
  /** Everything logged so far. */
  lines: LogLine[]
  /** Resolves when all messages that are due have had an attempt. */
  settled(): Promise<void>
  close(): Promise<void>
}

const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url))

/**
 * Uses the cheapest bcrypt: tests want real hashes, not slow ones. All files of a Jest worker share its threads, because they are slow to
 * start. Idle threads do not keep the process alive.
 */
let sharedHasher: PasswordHasher | undefined

/**
 * Starts the whole service with its own database, mail server and clock. `env` overrides settings, and `ports` replaces what lies outside
 * the service. Every answer must be one that the API document promises.
 */
export async function startServer(
  env: Record<string, string> = {},
  ports: Partial<Ports> = {},
): Promise<TestServer> {
  const [database, inbox] = await Promise.all([testDatabase(env['AUTH_DB_NAMESPACE'] ?? ''), startInbox()])
  const clock = new TestClock()
  const lines: LogLine[] = []
  const config = readConfig({ ...environment(database.url, inbox), ...env })
  const log = createLogger({
    level: config.logLevel,
    component: 'api',
    sink: (line) => void lines.push(JSON.parse(line) as LogLine),
  })
  sharedHasher ??= createPasswordHasher({ cost: 4 })
  const context = await createContext(config, {
    log,
    now: clock.now,
    databaseNow: () => Promise.resolve(clock.now()),
    hasher: sharedHasher,
    requestPauseMs: () => 0,
    // On a busy machine, many calls of a test may wait a long time for one lock.
    lockTimeoutMs: 100_000,
    ...ports,
  })
  const listener = await listen(createApp(context), {
    port: Number(env['AUTH_API_PORT'] ?? 0),
    host: '127.0.0.1',
  })
  const documented = watchDocumented(listener.port)
  const stopSender = context.outboxSender.start()
  return {
    url: `http://127.0.0.1:${listener.port}`,
    context,
    databaseUrl: database.url,
    clock,
    inbox,
    lines,
    settled: () => context.outboxSender.settled(),
    async close() {
      await closeAll(listener, stopSender, context, inbox, database)
      documented.end()
    },
  }
}

/** A database with the service's tables, copied from a migrated one, which is much faster than migrating. */
export function testDatabase(namespace = ''): Promise<TestDatabase> {
  return createTestDatabase({
    key: `${migrationsKey('auth', MIGRATIONS)}:${namespace}`,
    migrate: async (databaseUrl) => void (await migrateDatabase({ databaseUrl, dbNamespace: namespace })),
  })
}

async function closeAll(
  listener: Listener,
  stopSender: () => Promise<void>,
  context: AuthContext,
  inbox: Inbox,
  database: TestDatabase,
) {
  await listener.close(0)
  await stopSender()
  await context.close()
  await inbox.close()
  await database.drop()
}

/** The service as its process runs it, from environment variables to sockets. */
export type ServedProcess = {
  url: string
  inbox: Inbox
  /** Stops the service; its database, inbox and log file stay until `close`. */
  stop(): Promise<void>
  /** Everything in its log file. */
  lines(): LogLine[]
  close(): Promise<void>
}

export async function startServed(env: Record<string, string>): Promise<ServedProcess> {
  const [database, inbox] = await Promise.all([testDatabase(), startInbox()])
  const folder = mkdtempSync(join(tmpdir(), 'signet-auth-served-'))
  const logFile = join(folder, 'log')
  const lines = () =>
    readFileSync(logFile, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as LogLine)
  const variables = {
    ...environment(database.url, inbox),
    AUTH_API_HOST: '127.0.0.1',
    AUTH_API_PORT: '0',
    AUTH_LOG_FILE: logFile,
    ...env,
  }
  const service = await serve(readConfig(variables), variables)
  const listening = await waitFor(() => lines().find(({ msg }) => msg === 'listening'))
  const port = Number(listening['port'])
  const documented = watchDocumented(port)
  let stopped: Promise<void> | undefined
  const stop = () => (stopped ??= service.close())
  return {
    url: `http://127.0.0.1:${port}`,
    inbox,
    stop,
    lines,
    async close() {
      await stop()
      await inbox.close()
      await database.drop()
      rmSync(folder, { recursive: true })
      documented.end()
    },
  }
}

/** A working configuration. The public URL is not where the server listens, so a link built from `Host` would be noticed. */
const environment = (databaseUrl: string, inbox: Pick<Inbox, 'smtpPort'>): Record<string, string> => ({
  AUTH_SITE_URL: SITE,
  AUTH_API_EXTERNAL_URL: 'https://auth.example.com/auth/v1',
  AUTH_DB_DRIVER: 'postgres',
  DATABASE_URL: databaseUrl,
  AUTH_JWT_SECRET: JWT_SECRET,
  // Each server generates a key, and an RSA key takes a hundred times longer.
  AUTH_JWT_SIGNING_ALGORITHM: 'ES256',
  AUTH_SMTP_HOST: '127.0.0.1',
  AUTH_SMTP_PORT: String(inbox.smtpPort),
  AUTH_SMTP_ADMIN_EMAIL: 'no-reply@example.com',
  // Requests may take long while other tests run. Tests of this limit set their own value.
  AUTH_API_MAX_REQUEST_DURATION: '30s',
  AUTH_RATE_LIMIT_EMAIL_SENT: '100000',
  AUTH_RATE_LIMIT_EMAIL_SENT_PER_RECIPIENT: '100000',
  AUTH_RATE_LIMIT_SMS_SENT: '100000',
  AUTH_RATE_LIMIT_SMS_SENT_PER_RECIPIENT: '100000',
  // All tests come from one address, and try wrong passwords freely.
  AUTH_RATE_LIMIT_SHARED_ADDRESS_FACTOR: '100000',
  AUTH_SECURITY_SIGN_IN_ATTEMPTS: '100000',
  AUTH_URI_ALLOW_LIST: 'https://other.example.com/**',
})
