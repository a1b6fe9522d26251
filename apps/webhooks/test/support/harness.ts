import { createHash, randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { migrate } from '@signet/db'
import { leasePort } from '@signet/local'
import { createLogger, createRegistry } from '@signet/telemetry'
import { createTestDatabase, migrationsKey, testRedis, waitFor, type TestDatabase } from '@signet/testkit'
import type { Resolver } from '@signet/address-guard'
import { readConfig } from '../../src/config/read-config.js'
import { HeldTimeLimits } from './held-time-limits.js'
import { watchDocumented } from './documented-answers.js'
import { serve } from '../../src/serve.js'
import { JWT_SECRET, startIdentityDouble } from './identity-double.js'

const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url))

export const SERVICE_TOKEN = 'service-token-of-the-pipeline-0123456789'
export const SECOND_TOKEN = 'service-token-after-its-rotation-0123456789'

export type HarnessOptions = {
  /** Overrides of the environment. */
  env?: Record<string, string>
  /** Path of the base URL. */
  basePath?: string
  /** An empty database, which the caller also drops. By default, a copy of the template. */
  databaseUrl?: string
  /** The clock of the service. By default the system's, so that tests can compare times to the millisecond. */
  now?: () => Date
  /** Takes the time from the database, as in production. It may differ from the system's by half the duration of the first answer. */
  usesSharedClock?: boolean
  resolver?: Resolver
}

/** The real service on free ports, with a separate database and an identity double. All its answers must match its documents. */
export async function startHarness({
  env = {},
  basePath = '',
  databaseUrl,
  now = () => new Date(),
  usesSharedClock = false,
  ...ports
}: HarnessOptions = {}) {
  const database = databaseUrl === undefined ? await aCopy() : await itself(databaseUrl)
  const identity = await startIdentityDouble()
  const logLines: string[] = []
  // Not 0: the service must know its own address before it listens.
  const port = await leasePort()
  const origin = `http://127.0.0.1:${port}`
  const config = readConfig({
    WEBHOOKS_BASE_URL: `${origin}${basePath}`,
    WEBHOOKS_PORT: String(port),
    WEBHOOKS_INTERNAL_PORT: '0',
    WEBHOOKS_HOST: '127.0.0.1',
    WEBHOOKS_DATABASE_URL: database.url,
    WEBHOOKS_DATABASE_POOL_SIZE: '20',
    WEBHOOKS_REDIS_URL: testRedis().url,
    WEBHOOKS_QUEUE_PREFIX: testRedis().prefix,
    WEBHOOKS_IDENTITY_URL: identity.url,
    WEBHOOKS_IDENTITY_JWT_SECRET: JWT_SECRET,
    WEBHOOKS_SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    WEBHOOKS_INTERNAL_TOKENS: serviceTokens({
      pipeline: [SERVICE_TOKEN, SECOND_TOKEN],
      other: ['service-token-of-another-caller-012345678'],
    }),
    WEBHOOKS_RATE_LIMITS_ENABLED: 'false',
    ...env,
  })
  const timeLimits = new HeldTimeLimits()
  const log = createLogger({ level: 'debug', component: 'webhooks', sink: (line) => logLines.push(line) })
  const service = await serve(config, {
    log,
    registry: createRegistry({ runtime: false }),
    identityTimeLimit: timeLimits.start,
    ...(usesSharedClock ? {} : { now }),
    ...ports,
  })
  const documented = watchDocumented(service, basePath)
  // Until Redis is ready, limits are counted in memory. A test that brings its own Redis decides when it is ready.
  if (env['WEBHOOKS_REDIS_URL'] === undefined)
    await waitFor(() => service.ctx.redis.status === 'ready', { describe: 'Redis' })
  let closed: Promise<void> | undefined
  const close = async () => {
    await service.close()
    await identity.close()
    await database.drop()
    documented.end()
  }
  return {
    base: config.baseUrl,
    origin,
    internal: `http://127.0.0.1:${service.internalPort}`,
    identity,
    /** Of the service's calls to the identity server. */
    timeLimits,
    service,
    ctx: service.ctx,
    db: service.ctx.db,
    databaseUrl: database.url,
    logLines,
    /** May be called more than once. */
    close: () => (closed ??= close()),
  }
}

export type Harness = Awaited<ReturnType<typeof startHarness>>

export const aCopy = () =>
  createTestDatabase({ key: migrationsKey('webhooks', MIGRATIONS), migrate: toLatest })

async function itself(url: string): Promise<Pick<TestDatabase, 'url' | 'drop'>> {
  await toLatest(url)
  return { url, drop: () => Promise.resolve() }
}

async function toLatest(databaseUrl: string): Promise<void> {
  await migrate({ databaseUrl, directory: MIGRATIONS, table: 'migrations' })
}

const serviceTokens = (callers: Record<string, string[]>) =>
  Object.entries(callers)
    .flatMap(([name, tokens]) =>
      tokens.map((token) => `${name}:${createHash('sha256').update(token).digest('hex')}`),
    )
    .join()
