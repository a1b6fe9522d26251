import { createHash, generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { ConfigError } from '@signet/config'
import { readConfig } from '../src/config/read-config.js'

const KEY = createHash('sha256').update('any key').digest('base64')
const good = {
  WEBHOOKS_BASE_URL: 'https://hooks.example',
  WEBHOOKS_DATABASE_URL: 'postgres://app:secret@db/webhooks',
  WEBHOOKS_REDIS_URL: 'redis://redis:6379',
  WEBHOOKS_IDENTITY_URL: 'https://id.example',
  WEBHOOKS_IDENTITY_JWT_SECRET: 'any secret that is longer than 32 bytes',
  WEBHOOKS_SECRET_KEYS: `k1:${KEY}`,
  WEBHOOKS_INTERNAL_TOKENS: `pipeline:${'ab'.repeat(32)}`,
}

function problemsOf(env: Record<string, string>): string[] {
  try {
    readConfig({ ...good, ...env })
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map((problem) => problem.split(' ')[0] ?? '')
    throw error
  }
  return []
}

describe('the process refuses to start', () => {
  it.each<[string, Record<string, string>, string[]]>([
    [
      'with http in production',
      { NODE_ENV: 'production', WEBHOOKS_BASE_URL: 'http://x.example' },
      ['WEBHOOKS_BASE_URL'],
    ],
    [
      'with a mail server and neither port, sender nor a way to find addresses',
      { WEBHOOKS_SMTP_HOST: 'mail.example' },
      ['WEBHOOKS_SMTP_PORT', 'WEBHOOKS_SMTP_ADMIN_EMAIL', 'WEBHOOKS_IDENTITY_SERVICE_TOKEN'],
    ],
    [
      'with half a mail server, although it warns nobody',
      { WEBHOOKS_SMTP_HOST: 'mail.example', WEBHOOKS_SMTP_PORT: '25', WEBHOOKS_WARNING_EMAILS: 'false' },
      ['WEBHOOKS_SMTP_ADMIN_EMAIL'],
    ],
    [
      'with a sender and no mail server',
      { WEBHOOKS_SMTP_PORT: '25', WEBHOOKS_SMTP_ADMIN_EMAIL: 'no-reply@example.com' },
      ['WEBHOOKS_SMTP_PORT', 'WEBHOOKS_SMTP_ADMIN_EMAIL'],
    ],
    [
      'with private targets in production',
      { NODE_ENV: 'production', WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true' },
      ['WEBHOOKS_ALLOW_PRIVATE_TARGETS'],
    ],
    [
      'with development secrets in production',
      { NODE_ENV: 'production', WEBHOOKS_IDENTITY_JWT_SECRET: `development-only-${'x'.repeat(32)}` },
      ['WEBHOOKS_IDENTITY_JWT_SECRET'],
    ],
    [
      'with a short JWT secret',
      { WEBHOOKS_IDENTITY_JWT_SECRET: 'any secret of less than 32 byte' },
      ['WEBHOOKS_IDENTITY_JWT_SECRET'],
    ],
    [
      'with a JWT secret that repeats a few characters',
      { WEBHOOKS_IDENTITY_JWT_SECRET: 'x'.repeat(32) },
      ['WEBHOOKS_IDENTITY_JWT_SECRET'],
    ],
    ['with a short encryption key', { WEBHOOKS_SECRET_KEYS: 'k1:c2hvcnQ=' }, ['WEBHOOKS_SECRET_KEYS']],
    ['without encryption keys', { WEBHOOKS_SECRET_KEYS: '' }, ['WEBHOOKS_SECRET_KEYS']],
    [
      'with a plain internal token',
      { WEBHOOKS_INTERNAL_TOKENS: 'pipeline:secret' },
      ['WEBHOOKS_INTERNAL_TOKENS'],
    ],
    [
      'with a service token that is no JWT',
      { WEBHOOKS_IDENTITY_SERVICE_TOKEN: 'the-jwt-secret-by-mistake' },
      ['WEBHOOKS_IDENTITY_SERVICE_TOKEN'],
    ],
    ['without internal tokens', { WEBHOOKS_INTERNAL_TOKENS: '' }, ['WEBHOOKS_INTERNAL_TOKENS']],
    [
      'with a wildcard on the allow-list',
      { WEBHOOKS_OAUTH_REDIRECT_ALLOW_LIST: 'https://*.example' },
      ['WEBHOOKS_OAUTH_REDIRECT_ALLOW_LIST'],
    ],
    ['with one port for both listeners', { WEBHOOKS_INTERNAL_PORT: '8082' }, ['WEBHOOKS_PORT']],
    [
      'with a code life over ten minutes',
      { WEBHOOKS_OAUTH_CODE_TTL_SECONDS: '601' },
      ['WEBHOOKS_OAUTH_CODE_TTL_SECONDS'],
    ],
    [
      'with two kinds of Redis',
      { WEBHOOKS_REDIS_SENTINELS: 'a:1', WEBHOOKS_REDIS_CLUSTER_NODES: 'b:1' },
      ['WEBHOOKS_REDIS_SENTINELS'],
    ],
    ['with a sentinel without a port', { WEBHOOKS_REDIS_SENTINELS: 'a' }, ['WEBHOOKS_REDIS_SENTINELS']],
    [
      'with an IPv6 address without brackets',
      { WEBHOOKS_REDIS_CLUSTER_NODES: '::1:6379' },
      ['WEBHOOKS_REDIS_CLUSTER_NODES'],
    ],
    ['with a Redis URL that cannot be read', { WEBHOOKS_REDIS_URL: 'redis://:1' }, ['WEBHOOKS_REDIS_URL']],
    ['with an environment that does not exist', { NODE_ENV: 'prod' }, ['NODE_ENV']],
    [
      'with a fragment in a resource',
      { WEBHOOKS_OAUTH_RESOURCES: 'https://a.example/#x' },
      ['WEBHOOKS_OAUTH_RESOURCES'],
    ],
    [
      'with broken public keys',
      { WEBHOOKS_IDENTITY_JWT_PUBLIC_KEYS: '[]' },
      ['WEBHOOKS_IDENTITY_JWT_PUBLIC_KEYS'],
    ],
  ])('%s', (_, env, problems) => {
    expect(problemsOf(env)).toEqual(problems)
  })

  it('with every problem at once, also when settings that rules need are missing', () => {
    expect(
      problemsOf({
        NODE_ENV: 'production',
        WEBHOOKS_BASE_URL: '',
        WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true',
        WEBHOOKS_SECRET_KEYS: 'x',
        WEBHOOKS_PORT: '80x',
      }),
    ).toEqual([
      'WEBHOOKS_SECRET_KEYS',
      'WEBHOOKS_BASE_URL',
      'WEBHOOKS_PORT',
      'WEBHOOKS_ALLOW_PRIVATE_TARGETS',
    ])
  })
})

describe('configured public keys', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const rsa = { ...publicKey.export({ format: 'jwk' }), kid: 'rsa' }
  const secret = {
    kty: 'oct',
    kid: 'oct',
    k: Buffer.from(good.WEBHOOKS_IDENTITY_JWT_SECRET).toString('base64url'),
  }
  const weak = {
    ...generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' }),
    kid: 'w',
  }
  const read = (value: unknown) =>
    readConfig({ ...good, WEBHOOKS_IDENTITY_JWT_PUBLIC_KEYS: JSON.stringify(value) }).identityJwtPublicKeys

  it('may be a list or a JWK Set and need no key_ops', () => {
    for (const value of [[rsa], { keys: [rsa] }])
      expect(read(value)?.findKey({ alg: 'RS256', kid: 'rsa' })).toMatchObject({ alg: 'RS256', kid: 'rsa' })
  })

  it.each<[unknown, string]>([
    ['text', 'must be a JSON array of JWKs or {"keys": […]}'],
    [[], 'must list at least one key'],
    [[secret], 'must be public keys: none symmetric or with a private part'],
    [
      [{ ...privateKey.export({ format: 'jwk' }), kid: 'rsa' }],
      'must be public keys: none symmetric or with a private part',
    ],
    [[weak, rsa, rsa], '[0] an RSA key needs at least 2048 bits; [2] has the kid of another key'],
  ])('%# are refused with what is wrong', (value, problem) => {
    expect(() => read(value)).toThrow(`WEBHOOKS_IDENTITY_JWT_PUBLIC_KEYS ${problem}`)
  })
})

it('takes DATABASE_URL, PORT and LOG_LEVEL without prefix, the prefixed ones first', () => {
  const config = readConfig({
    ...good,
    WEBHOOKS_DATABASE_URL: '',
    DATABASE_URL: 'postgres://db/plain',
    PORT: '9000',
    LOG_LEVEL: 'debug',
    WEBHOOKS_LOG_LEVEL: 'warn',
  })
  expect(config).toMatchObject({ databaseUrl: 'postgres://db/plain', port: 9000, logLevel: 'warn' })
})

it('accepts IPv6 addresses of Redis in brackets', () => {
  const read = (name: string) => readConfig({ ...good, [name]: '[::1]:6379' })
  expect(read('WEBHOOKS_REDIS_SENTINELS').redisSentinels).toEqual(['[::1]:6379'])
  expect(read('WEBHOOKS_REDIS_CLUSTER_NODES').redisClusterNodes).toEqual(['[::1]:6379'])
})

it('accepts the good example as it is', () => {
  expect(readConfig({ ...good, NODE_ENV: 'production' })).toMatchObject({
    baseUrl: 'https://hooks.example',
    codeTtlSeconds: 300,
    refreshReuseGraceSeconds: 10,
    limitsEnabled: true,
  })
})
