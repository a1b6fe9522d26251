import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { leasePort, startGuarded, type Guarded } from '@signet/local'
import { createTestDatabase, migrationsKey } from './database.js'
import { hs256Token } from './hs256-token.js'
import { jsonLines } from './json-lines.js'
import { watchProcess } from './open-api/watch-process.js'
import { testRedis } from './redis.js'
import { waitFor } from './wait-for.js'

type Env = Record<string, string>
type AppName = 'auth' | 'webhooks' | 'dispatcher'

export type StackOptions = {
  /** Which services are needed. */
  apps?: readonly AppName[]
  /** More settings of each. */
  env?: Partial<Record<AppName, Env>>
}

export type Stack = {
  authUrl: string
  webhooksUrl: string
  /** The listener for other services, such as the recording pipeline, which has `internalToken`. */
  internalUrl: string
  internalToken: string
  webhooksDatabaseUrl: string
  /** An admin JWT for the identity server. */
  adminToken: string
  /** Ends a service as a crash does. */
  kill: (app: AppName) => Promise<void>
  /** Starts one that was killed, with the same settings; resolves when it is healthy. */
  restart: (app: AppName) => Promise<void>
  /** What the service has printed so far, on both streams: each line must be an object in JSON. */
  linesOf: (app: AppName) => Record<string, unknown>[]
  close: () => Promise<void>
}

const APPS = fileURLToPath(new URL('../../../apps/', import.meta.url))
/** Accounts are confirmed without an email, so nothing needs to listen at the mail server's address. */
const AUTH_SETTINGS = {
  AUTH_API_EXTERNAL_URL: 'http://127.0.0.1:1',
  AUTH_SITE_URL: 'http://127.0.0.1:3000',
  AUTH_DB_DRIVER: 'postgres',
  AUTH_JWT_SECRET: randomBytes(32).toString('base64url'),
  AUTH_MAILER_AUTOCONFIRM: 'true',
  AUTH_SMTP_HOST: '127.0.0.1',
  AUTH_SMTP_PORT: '1025',
  AUTH_SMTP_ADMIN_EMAIL: 'no-reply@example.test',
}

/** Settings of apps/auth for phones, as first and second factor; this number gets `code` instead of messages. */
export const phoneSettings = (number: string, code: string): Env => ({
  AUTH_EXTERNAL_PHONE_ENABLED: 'true',
  AUTH_SMS_AUTOCONFIRM: 'true',
  AUTH_SMS_PROVIDER: 'twilio',
  AUTH_SMS_TWILIO_ACCOUNT_SID: 'AC1',
  AUTH_SMS_TWILIO_AUTH_TOKEN: 'token',
  AUTH_SMS_TWILIO_MESSAGE_SERVICE_SID: 'MG1',
  AUTH_SMS_TEST_OTP: `${number}:${code}`,
  AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
  AUTH_MFA_PHONE_VERIFY_ENABLED: 'true',
  AUTH_MFA_PHONE_MAX_FREQUENCY: '0s',
})

const mainOf = (app: AppName): string => join(APPS, app, 'dist/main.js')

/** The built services, each a separate process with its own database. Every response must match their documents. */
export async function startStack({
  apps = ['auth', 'webhooks', 'dispatcher'],
  env = {},
}: StackOptions = {}): Promise<Stack> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-stack-'))
  const authDatabase = await aDatabase('auth', AUTH_SETTINGS, 'DATABASE_URL')
  const webhooksDatabase = await aDatabase('webhooks', {}, 'WEBHOOKS_DATABASE_URL')
  const databases = [authDatabase, webhooksDatabase]
  const [authPort, webhooksPort, internalPort, dispatcherPort] = await Promise.all([
    leasePort(),
    leasePort(),
    leasePort(),
    leasePort(),
  ])
  const watched = watchProcess(folder, { auth: authPort, webhooks: webhooksPort, internal: internalPort })
  const authUrl = `http://127.0.0.1:${authPort}`
  const webhooksUrl = `http://127.0.0.1:${webhooksPort}`
  const redis = testRedis()
  const eventsSecret = `whsec_${randomBytes(32).toString('base64')}`
  const internalToken = randomBytes(24).toString('hex')
  const adminToken = anAdminToken(AUTH_SETTINGS.AUTH_JWT_SECRET)
  const shared = {
    WEBHOOKS_DATABASE_URL: webhooksDatabase.url,
    WEBHOOKS_REDIS_URL: redis.url,
    WEBHOOKS_QUEUE_PREFIX: redis.prefix,
    WEBHOOKS_SECRET_KEYS: `test:${randomBytes(32).toString('base64')}`,
    WEBHOOKS_BASE_URL: webhooksUrl,
    WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true',
  }
  const environments: Record<AppName, Env> = {
    auth: {
      ...AUTH_SETTINGS,
      AUTH_API_HOST: '127.0.0.1',
      PORT: String(authPort),
      AUTH_API_EXTERNAL_URL: authUrl,
      AUTH_URI_ALLOW_LIST: `${webhooksUrl}/sign-in/callback*`,
      DATABASE_URL: authDatabase.url,
      AUTH_EVENTS_URL: `http://127.0.0.1:${internalPort}/internal/v1/account-events`,
      AUTH_EVENTS_SECRET: eventsSecret,
      ...env.auth,
    },
    webhooks: {
      ...shared,
      WEBHOOKS_HOST: '127.0.0.1',
      WEBHOOKS_PORT: String(webhooksPort),
      WEBHOOKS_INTERNAL_PORT: String(internalPort),
      WEBHOOKS_IDENTITY_URL: authUrl,
      WEBHOOKS_IDENTITY_JWT_AUD: 'authenticated',
      WEBHOOKS_IDENTITY_SERVICE_TOKEN: adminToken,
      WEBHOOKS_IDENTITY_EVENTS_SECRETS: eventsSecret,
      WEBHOOKS_INTERNAL_TOKENS: `test:${createHash('sha256').update(internalToken).digest('hex')}`,
      ...env.webhooks,
    },
    dispatcher: {
      ...shared,
      DISPATCHER_HOST: '127.0.0.1',
      DISPATCHER_PORT: String(dispatcherPort),
      ...env.dispatcher,
    },
  }
  const running = new Map<AppName, Guarded>()
  const close = async () => {
    await Promise.all([...running.values()].map((service) => service.stop()))
    await Promise.all(databases.map((database) => database.drop()))
    try {
      watched.end()
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
  const start = async (app: AppName, healthUrl: string) => {
    const logFile = join(folder, `${app}.log`)
    const service = await startGuarded({
      command: process.execPath,
      args: [...watched.args, mainOf(app), 'serve'],
      stopSignal: 'TERM',
      logFile,
      cwd: folder,
      env: { PATH: process.env['PATH'], NODE_ENV: 'development', ...watched.env, ...environments[app] },
    })
    running.set(app, service)
    await untilHealthy(app, service, healthUrl, logFile)
  }
  const health: Record<AppName, string> = {
    auth: `${authUrl}/health`,
    webhooks: `${webhooksUrl}/healthz`,
    dispatcher: `http://127.0.0.1:${dispatcherPort}/healthz`,
  }
  const starts = await Promise.allSettled(apps.map((app) => start(app, health[app])))
  const failed = starts.find((one) => one.status === 'rejected')
  if (failed) {
    await close()
    throw failed.reason
  }
  return {
    authUrl,
    webhooksUrl,
    internalUrl: `http://127.0.0.1:${internalPort}`,
    internalToken,
    webhooksDatabaseUrl: webhooksDatabase.url,
    adminToken,
    async kill(app) {
      running.get(app)?.kill('SIGKILL')
      await running.get(app)?.exited
    },
    restart: (app) => start(app, health[app]),
    linesOf: (app) => jsonLines(readFileSync(join(folder, `${app}.log`), 'utf8')),
    close,
  }
}

/** A migrated database; the app migrates the template itself. */
function aDatabase(app: AppName, settings: Env, variable: string) {
  return createTestDatabase({
    key: `stack:${migrationsKey(app, join(APPS, app, 'migrations'))}`,
    async migrate(url) {
      const env = { PATH: process.env['PATH'], NODE_ENV: 'development', ...settings, [variable]: url }
      await promisify(execFile)(process.execPath, [mainOf(app), 'migrate'], { env })
    },
  })
}

function anAdminToken(secret: string): string {
  const now = Math.floor(Date.now() / 1000)
  return hs256Token(secret, { role: 'service_role', aud: 'authenticated', iat: now, exp: now + 3600 })
}

async function untilHealthy(app: AppName, service: Guarded, url: string, logFile: string): Promise<void> {
  const isHealthy = async () => {
    const answer = await fetch(url, { signal: AbortSignal.timeout(2000) }).catch(() => null)
    return answer?.ok === true || !service.running
  }
  await waitFor(isHealthy, { describe: `apps/${app}` })
  if (!service.running) throw new Error(`apps/${app} ended while starting:\n${readFileSync(logFile, 'utf8')}`)
}
