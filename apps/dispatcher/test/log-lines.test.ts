import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startPrivateRedis, startStack, waitFor, type PrivateRedis, type Stack } from '@signet/testkit'
import { Redis } from 'ioredis'

const apps = ['auth', 'webhooks', 'dispatcher'] as const

describe('what the services print', () => {
  let redis: PrivateRedis
  let stack: Stack
  beforeAll(async () => {
    redis = await startPrivateRedis()
    const client = new Redis(redis.url)
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru')
    // ioredis logs a warning about an account that may not ask whether the server is ready.
    await client.call('ACL', 'SETUSER', 'limits', 'on', '>password', '~*', '+@all', '-info')
    client.disconnect()
    const shared = { WEBHOOKS_REDIS_URL: redis.url }
    const ofLimits = redis.url.replace('redis://', 'redis://limits:password@')
    stack = await startStack({
      env: { auth: { AUTH_RATE_LIMIT_REDIS_URL: ofLimits }, webhooks: shared, dispatcher: shared },
    })
  })
  afterAll(async () => {
    await stack.close()
    await redis.remove()
  })

  const textsOf = (app: (typeof apps)[number]) => stack.linesOf(app).map((line) => JSON.stringify(line))
  const until = (app: (typeof apps)[number], pattern: RegExp) =>
    waitFor(() => textsOf(app).some((text) => pattern.test(text)), { describe: `${app}: ${pattern}` })

  it('is JSON in every line, also what libraries have to say about Redis', async () => {
    await until('dispatcher', /"level":"warning".*Eviction policy is allkeys-lru/)
    await until('auth', /"level":"warning".*Skipping the ready check/)
    await redis.stop()
    for (const app of apps) await until(app, /ECONNREFUSED|onnection (lost|closed|failed)|not reachable/i)
    for (const app of apps)
      for (const line of stack.linesOf(app))
        expect(line).toMatchObject({
          time: expect.any(String) as unknown,
          level: expect.any(String) as unknown,
          msg: expect.any(String) as unknown,
          component: app === 'auth' ? 'api' : app,
        })
  })
})
