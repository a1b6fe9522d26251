import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  leasePort,
  migrateService,
  newSecrets,
  serviceEnvironments,
  startService,
  type ServerProcess,
  type Service,
  type ServiceName,
} from '@signet/local'
import { createTestDatabase, migrationsKey } from './database.js'
import { jsonLines } from './json-lines.js'
import { watchProcess } from './open-api/watch-process.js'
import { testRedis } from './redis.js'

type Env = Record<string, string>

export type StackOptions = {
  /** The services to start. */
  apps?: readonly ServiceName[]
  /** Additional settings for each service. */
  env?: Partial<Record<ServiceName, Env>>
}

export type Stack = {
  authUrl: string
  webhooksUrl: string
  /** The listener for other services, such as the recording pipeline, which use `internalToken`. */
  internalUrl: string
  internalToken: string
  webhooksDatabaseUrl: string
  /** An admin JWT for the identity server. */
  adminToken: string
  /** Ends a service as a crash would. */
  kill: (app: ServiceName) => Promise<void>
  /** Starts a killed service again with the same settings; resolves when it is healthy. */
  restart: (app: ServiceName) => Promise<void>
  /** What the service has printed so far, on both streams: each line must be a JSON object. */
  linesOf: (app: ServiceName) => Record<string, unknown>[]
  close: () => Promise<void>
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** Accounts are confirmed without an email, so nothing needs to listen at these addresses. */
const NOBODY = { inbox: '', smtp: 'smtp://localhost:1025', receiver: '' }

/** Gives the site of apps/auth a host name, as `npm start` does, because passkeys do not work for an IP address. */
const SITE: Env = { AUTH_SITE_URL: 'http://localhost:3000' }

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

/** The built services as `npm start` runs them, each with its own database. Every response must match their documents. */
export async function startStack({
  apps = ['auth', 'webhooks', 'dispatcher'],
  env = {},
}: StackOptions = {}): Promise<Stack> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-stack-'))
  // The services must know one another's addresses, and keep their own when they restart.
  const [auth, webhooks, internal, dispatcher] = [
    await leasePort(),
    await leasePort(),
    await leasePort(),
    await leasePort(),
  ]
  const local = (port: number) => `http://127.0.0.1:${port}`
  const [authUrl, webhooksUrl, internalUrl] = [local(auth), local(webhooks), local(internal)]
  const redis = testRedis()
  const secrets = newSecrets()
  const dispatcherUrl = local(dispatcher)
  const watched = {
    auth: watchProcess(folder, { auth }),
    webhooks: watchProcess(folder, { webhooks, internal }),
    dispatcher: watchProcess(folder, {}),
  }
  const settings = serviceEnvironments({
    addresses: {
      ...{
        auth: authUrl,
        webhooks: webhooksUrl,
        internal: internalUrl,
        dispatcher: dispatcherUrl,
        ...NOBODY,
      },
      ...{ postgres: process.env['SIGNET_TEST_DATABASE_URL'] ?? '', redis: redis.url },
    },
    secrets,
  })
  const service = (name: ServiceName, more: Env): Service => ({
    name,
    root: ROOT,
    env: { ...settings[name], ...(name === 'auth' && SITE), ...more },
    logFile: join(folder, `${name}.log`),
  })
  /** A migrated database; the app migrates the template itself. */
  const aDatabase = (name: ServiceName, variable: string) =>
    createTestDatabase({
      key: `stack:${migrationsKey(name, join(ROOT, 'apps', name, 'migrations'))}`,
      migrate: (url) =>
        migrateService({ ...service(name, { [variable]: url }), logFile: join(folder, 'migrations.log') }),
    })
  const databases = {
    auth: await aDatabase('auth', 'DATABASE_URL'),
    webhooks: await aDatabase('webhooks', 'WEBHOOKS_DATABASE_URL'),
  }
  const shared = {
    WEBHOOKS_DATABASE_URL: databases.webhooks.url,
    WEBHOOKS_QUEUE_PREFIX: redis.prefix,
  }
  const overrides: Record<ServiceName, Env> = {
    auth: { DATABASE_URL: databases.auth.url, AUTH_MAILER_AUTOCONFIRM: 'true' },
    webhooks: shared,
    dispatcher: shared,
  }
  const health: Record<ServiceName, string> = {
    auth: `${authUrl}/health`,
    webhooks: `${webhooksUrl}/healthz`,
    dispatcher: `${dispatcherUrl}/healthz`,
  }
  const running = new Map<ServiceName, ServerProcess>()
  const start = async (name: ServiceName) => {
    const described = service(name, { ...overrides[name], ...watched[name].env, ...env[name] })
    const one = { ...described, command: 'serve', nodeArguments: watched[name].args } as const
    running.set(name, await startService(one, health[name]))
  }
  const close = async () => {
    await Promise.all([...running.values()].map((one) => one.stop()))
    await Promise.all(Object.values(databases).map((database) => database.drop()))
    try {
      for (const { end } of Object.values(watched)) end()
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
  const starts = await Promise.allSettled(apps.map(start))
  const failed = starts.find((one) => one.status === 'rejected')
  if (failed) {
    await close()
    throw failed.reason
  }
  return {
    authUrl,
    webhooksUrl,
    internalUrl,
    internalToken: secrets.internalToken,
    webhooksDatabaseUrl: databases.webhooks.url,
    adminToken: settings.webhooks['WEBHOOKS_IDENTITY_SERVICE_TOKEN'] ?? '',
    async kill(name) {
      await running.get(name)?.kill('SIGKILL')
    },
    restart: start,
    linesOf: (name) => jsonLines(readFileSync(join(folder, `${name}.log`), 'utf8')),
    close,
  }
}
