import { createHash, randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { migrate } from '@signet/db'
import { createLogger, createRegistry } from '@signet/telemetry'
import { createTestDatabase, migrationsKey, testRedis, waitFor } from '@signet/testkit'
import { readConfig } from '../../src/read-config.js'
import { startService } from '../../src/service.js'
import { JWT_SECRET, startIdentityDouble } from './identity-double.js'

const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url))

const PIPELINE_TOKEN = 'pipeline-service-token-of-more-than-32-bytes'

type Options = {
  /** Overrides of the environment. */
  env?: Record<string, string>
  /** Path of the base URL. */
  basePath?: string
  now?: () => Date
}

/** The real service on free ports, with a database of its own and an identity double. */
export async function startHarness({ env = {}, basePath = '', now }: Options = {}) {
  const database = await createTestDatabase({
    key: migrationsKey('webhooks', MIGRATIONS),
    migrate: async (databaseUrl) => {
      await migrate({ databaseUrl, directory: MIGRATIONS, table: 'migrations' })
    },
  })
  const identity = await startIdentityDouble()
  const logLines: string[] = []
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const config = readConfig({
    WEBHOOKS_BASE_URL: `${origin}${basePath}`,
    WEBHOOKS_PORT: String(port),
    WEBHOOKS_INTERNAL_PORT: '0',
    WEBHOOKS_HOST: '127.0.0.1',
    WEBHOOKS_DATABASE_URL: database.url,
    WEBHOOKS_REDIS_URL: testRedis().url,
    WEBHOOKS_QUEUE_PREFIX: testRedis().prefix,
    WEBHOOKS_IDENTITY_URL: identity.url,
    WEBHOOKS_IDENTITY_JWT_SECRET: JWT_SECRET,
    WEBHOOKS_SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    WEBHOOKS_INTERNAL_TOKENS: `pipeline:${createHash('sha256').update(PIPELINE_TOKEN).digest('hex')}`,
    WEBHOOKS_RATE_LIMITS_ENABLED: 'false',
    WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true',
    ...env,
  })
  const log = createLogger({ level: 'debug', component: 'test', sink: (line) => logLines.push(line) })
  const service = await startService(config, {
    log,
    registry: createRegistry({ runtime: false }),
    ...(now ? { now } : {}),
  })
  // Until Redis is there, limits are counted in memory.
  await waitFor(() => service.ctx.redis.status === 'ready', { describe: 'Redis' })
  return {
    base: config.baseUrl,
    origin,
    internal: `http://127.0.0.1:${service.internalPort}`,
    identity,
    ctx: service.ctx,
    db: service.ctx.db,
    databaseUrl: database.url,
    logLines,
    async close() {
      await service.close()
      await identity.close()
      await database.drop()
    },
  }
}

export type Harness = Awaited<ReturnType<typeof startHarness>>

async function freePort(): Promise<number> {
  const { createServer } = await import('node:net')
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
