import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { Db } from '@signet/db'
import { freezeTimeouts, testRedis, waitFor, type FrozenTimeouts, type TestDatabase } from '@signet/testkit'
import { anAccount, aSummary, queueSummary, webhooksDatabase } from '@signet/webhook-testkit'
import { readConfig } from '../src/config/read-config.js'
import { ops } from '../src/operations/ops.js'
import { startMuteRedis } from './support/mute-redis.js'

let database: TestDatabase
beforeAll(async () => {
  database = await webhooksDatabase()
  const db = new Db({ connectionString: database.url })
  await queueSummary(db, aSummary({ accountId: anAccount() }))
  await db.close()
})
afterAll(() => database.drop())

let frozen: FrozenTimeouts
beforeEach(() => void (frozen = freezeTimeouts()))
afterEach(() => frozen.thaw())

/** What `ops status` prints. */
async function status(redisUrl: string): Promise<string> {
  const env = {
    NODE_ENV: 'test',
    WEBHOOKS_DATABASE_URL: database.url,
    WEBHOOKS_REDIS_URL: redisUrl,
    WEBHOOKS_SECRET_KEYS: `test:${randomBytes(32).toString('base64')}`,
  }
  let printed = ''
  const code = await ops(() => readConfig(env), {
    argv: ['status'],
    env: { USER: 'ada' },
    out: (text) => (printed += text),
    err: (text) => (printed += text),
  })
  return `${code} ${printed}`
}

function expectFromDatabase(printed: string) {
  expect(printed).toMatch(/^0 /)
  expect(printed).toContain('Queues: Redis does not respond')
  expect(printed).toContain('Undispatched events: 1')
}

it('the status comes from the database at once when nobody listens where Redis should be', async () => {
  expectFromDatabase(await status('redis://127.0.0.1:1'))
})

it.each([
  ['accepts connections and says nothing', /./],
  ['falls silent as soon as it is asked about the queues', /evalsha/i],
])('the status waits a second for a Redis that %s', async (_name, word) => {
  const redis = await startMuteRedis(testRedis().url, word)
  try {
    const printed = status(redis.url)
    await waitFor(() => redis.isMute() && frozen.pendingMs().includes(1000))
    frozen.advance(1000)
    expectFromDatabase(await printed)
  } finally {
    redis.close()
  }
})
