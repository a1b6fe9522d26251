import { randomBytes } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { ConfigError } from '@signet/config'
import { DEFAULT_RETRY_DELAYS_SECONDS } from '@signet/webhook-core'
import { readConfig } from '../src/config/read-config.js'

const good = {
  NODE_ENV: 'production',
  WEBHOOKS_DATABASE_URL: 'postgres://app:secret@db/webhooks',
  WEBHOOKS_REDIS_URL: 'redis://redis:6379',
  WEBHOOKS_SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
  DISPATCHER_ADMIN_TOKEN: 'x'.repeat(32),
}

const load = (env: Record<string, string>) => readConfig({ ...good, ...env })

function problemsOf(env: Record<string, string>): string[] {
  try {
    load(env)
  } catch (error) {
    if (error instanceof ConfigError) return [...error.problems]
    throw error
  }
  return []
}

describe('the settings of the dispatcher', () => {
  it('have the documented defaults', () => {
    expect(load({})).toMatchObject({
      port: 8084,
      concurrency: 100,
      endpointConcurrency: 8,
      retryDelaysSeconds: DEFAULT_RETRY_DELAYS_SECONDS,
      timeoutMs: 5000,
      queuePrefix: '{webhooks}',
      allowPrivateTargets: false,
    })
  })

  it.each<[string, Record<string, string>, string]>([
    [
      'private targets in production',
      { WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true' },
      'WEBHOOKS_ALLOW_PRIVATE_TARGETS',
    ],
    ['no operator token in production', { DISPATCHER_ADMIN_TOKEN: '' }, 'DISPATCHER_ADMIN_TOKEN'],
    ['a short operator token', { DISPATCHER_ADMIN_TOKEN: 'x'.repeat(31) }, 'DISPATCHER_ADMIN_TOKEN'],
    [
      'a secret of the repository',
      { DISPATCHER_ADMIN_TOKEN: `development-only-${'x'.repeat(32)}` },
      'DISPATCHER_ADMIN_TOKEN',
    ],
    ['no keys', { WEBHOOKS_SECRET_KEYS: '' }, 'WEBHOOKS_SECRET_KEYS'],
    [
      'a weak key',
      { WEBHOOKS_SECRET_KEYS: `k1:${Buffer.alloc(32).toString('base64')}` },
      'WEBHOOKS_SECRET_KEYS',
    ],
    [
      'a short key',
      { WEBHOOKS_SECRET_KEYS: `k1:${randomBytes(31).toString('base64')}` },
      'WEBHOOKS_SECRET_KEYS',
    ],
    ['another database', { WEBHOOKS_DATABASE_URL: 'mysql://db/x' }, 'WEBHOOKS_DATABASE_URL'],
    ['another queue', { WEBHOOKS_REDIS_URL: 'http://redis' }, 'WEBHOOKS_REDIS_URL'],
    [
      'sentinels and a cluster',
      { WEBHOOKS_REDIS_SENTINELS: 's:26379', WEBHOOKS_REDIS_CLUSTER_NODES: 'c:6379' },
      'WEBHOOKS_REDIS_SENTINELS',
    ],
    ['a sentinel without a port', { WEBHOOKS_REDIS_SENTINELS: 'sentinel' }, 'WEBHOOKS_REDIS_SENTINELS'],
    [
      'a node with a word for a port',
      { WEBHOOKS_REDIS_CLUSTER_NODES: 'c:x' },
      'WEBHOOKS_REDIS_CLUSTER_NODES',
    ],
    ['a Redis URL that cannot be read', { WEBHOOKS_REDIS_URL: 'redis://redis:70000' }, 'WEBHOOKS_REDIS_URL'],
    ['an environment that does not exist', { NODE_ENV: 'prod' }, 'NODE_ENV'],
    ['a number with letters', { DISPATCHER_CONCURRENCY: '1o0' }, 'DISPATCHER_CONCURRENCY'],
    [
      'no permit for an endpoint',
      { DISPATCHER_ENDPOINT_CONCURRENCY: '0' },
      'DISPATCHER_ENDPOINT_CONCURRENCY',
    ],
    ['a time limit beyond the job lock', { DISPATCHER_TIMEOUT_MS: '8001' }, 'DISPATCHER_TIMEOUT_MS'],
    ['a schedule of words', { DISPATCHER_RETRY_DELAYS_SECONDS: '1,soon' }, 'DISPATCHER_RETRY_DELAYS_SECONDS'],
    [
      'a retry without a delay',
      { DISPATCHER_RETRY_DELAYS_SECONDS: '60,0' },
      'DISPATCHER_RETRY_DELAYS_SECONDS',
    ],
    ['a proxy without a scheme', { DISPATCHER_PROXY_URL: 'proxy:3128' }, 'DISPATCHER_PROXY_URL'],
    [
      'a password of a proxy that is not percent-encoded',
      { DISPATCHER_PROXY_URL: 'http://egress:50%@proxy:3128' },
      'DISPATCHER_PROXY_URL',
    ],
    ['a prefix with a colon', { WEBHOOKS_QUEUE_PREFIX: 'a:b' }, 'WEBHOOKS_QUEUE_PREFIX'],
    ['a yes for a switch', { WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'yes' }, 'WEBHOOKS_ALLOW_PRIVATE_TARGETS'],
  ])('refuse %s', (_name, env, variable) => {
    const problems = problemsOf(env)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(new RegExp(`^${variable}\\b`))
  })

  it('accept IPv6 addresses of Redis in brackets', () => {
    expect(load({ WEBHOOKS_REDIS_SENTINELS: '[::1]:26379' }).redisSentinels).toEqual(['[::1]:26379'])
    expect(load({ WEBHOOKS_REDIS_CLUSTER_NODES: '[::1]:6379' }).redisClusterNodes).toEqual(['[::1]:6379'])
  })

  it('report every problem at once and repeat no value', () => {
    const problems = problemsOf({
      WEBHOOKS_DATABASE_URL: 'hidden-url',
      WEBHOOKS_REDIS_URL: '',
      WEBHOOKS_SECRET_KEYS: 'hidden-key',
      WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true',
      DISPATCHER_ADMIN_TOKEN: 'hidden-token',
      DISPATCHER_TIMEOUT_MS: '-1',
    })
    expect(problems.map((problem) => problem.split(' ')[0]).sort()).toEqual([
      'DISPATCHER_ADMIN_TOKEN',
      'DISPATCHER_TIMEOUT_MS',
      'WEBHOOKS_ALLOW_PRIVATE_TARGETS',
      'WEBHOOKS_DATABASE_URL',
      'WEBHOOKS_REDIS_URL',
      'WEBHOOKS_SECRET_KEYS',
    ])
    expect(problems.join()).not.toContain('hidden-')
  })
})
