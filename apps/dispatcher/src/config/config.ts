import { brandSettings } from '@signet/brand'
import {
  defineSettings,
  integer,
  list,
  parsed,
  text,
  boolean,
  choice,
  httpUrl,
  type ConfigOf,
} from '@signet/config'
import { logLevels } from '@signet/telemetry'
import { DEFAULT_QUEUE_PREFIX, DEFAULT_RETRY_DELAYS_SECONDS, SecretBox } from '@signet/webhook-core'

/** The `WEBHOOKS_` settings must have the same values as those of the webhooks API. */
export const settings = defineSettings({
  nodeEnv: text({
    env: 'NODE_ENV',
    fallback: 'development',
    doc: '`production` enables the strict start-up checks.',
  }),
  logLevel: choice({
    env: ['DISPATCHER_LOG_LEVEL', 'WEBHOOKS_LOG_LEVEL', 'LOG_LEVEL'],
    choices: logLevels,
    fallback: 'info',
    doc: 'Least severe level to log.',
  }),
  databaseUrl: text({
    env: ['WEBHOOKS_DATABASE_URL', 'DATABASE_URL'],
    secret: true,
    pattern: /^postgres(ql)?:\/\//,
    expected: 'a postgres:// URL',
    doc: 'PostgreSQL of the webhooks service, which also runs its migrations.',
  }),
  redisUrl: text({
    env: 'WEBHOOKS_REDIS_URL',
    secret: true,
    pattern: /^rediss?:\/\//,
    expected: 'a redis:// or rediss:// URL',
    doc: 'Redis for the queues. With Sentinel, the host is the name of the master group. With a cluster, only credentials and TLS are used.',
  }),
  redisSentinels: list({
    env: 'WEBHOOKS_REDIS_SENTINELS',
    fallback: [],
    doc: 'Redis Sentinels as `host:port`.',
  }),
  redisSentinelPassword: text({
    env: 'WEBHOOKS_REDIS_SENTINEL_PASSWORD',
    optional: true,
    secret: true,
    doc: 'Password of the Sentinels themselves, if they have one. That of the URL is for the servers behind them.',
  }),
  redisClusterNodes: list({
    env: 'WEBHOOKS_REDIS_CLUSTER_NODES',
    fallback: [],
    doc: 'Nodes of a Redis Cluster as `host:port`. Some are enough.',
  }),
  queuePrefix: text({
    env: 'WEBHOOKS_QUEUE_PREFIX',
    fallback: DEFAULT_QUEUE_PREFIX,
    pattern: /^[\w{}-]{1,64}$/,
    expected: 'letters, digits, `_`, `-` and braces',
    doc: 'Prefix of all queue keys. The braces keep them on one node of a cluster.',
  }),
  secretBox: parsed<SecretBox, { env: string; secret: true; doc: string }>({
    env: 'WEBHOOKS_SECRET_KEYS',
    secret: true,
    kind: 'keyid:base64 list',
    parse: (raw) => SecretBox.parse(raw),
    doc: 'Keys that encrypt stored signing secrets, as `keyid:base64(32 bytes)`. All of them can decrypt; the first one encrypts.',
  }),
  allowPrivateTargets: boolean({
    env: 'WEBHOOKS_ALLOW_PRIVATE_TARGETS',
    fallback: false,
    doc: 'Allow deliveries to private addresses and over http. For development and tests; not allowed in production.',
  }),
  port: integer({
    env: ['DISPATCHER_PORT', 'PORT'],
    fallback: 8084,
    max: 65535,
    doc: 'Port for health checks, metrics and the pages for operators. Keep it private. 0 picks a free port.',
  }),
  host: text({
    env: 'DISPATCHER_HOST',
    optional: true,
    doc: 'Address to listen on. Defaults to all addresses.',
  }),
  concurrency: integer({
    env: 'DISPATCHER_CONCURRENCY',
    fallback: 100,
    min: 1,
    max: 10_000,
    doc: 'Maximum attempts in flight in this process.',
  }),
  endpointConcurrency: integer({
    env: 'DISPATCHER_ENDPOINT_CONCURRENCY',
    fallback: 8,
    min: 1,
    max: 1000,
    doc: 'Maximum attempts in flight to one endpoint from this process.',
  }),
  retryDelaysSeconds: parsed<readonly number[], { env: string; fallback: readonly number[]; doc: string }>({
    env: 'DISPATCHER_RETRY_DELAYS_SECONDS',
    fallback: DEFAULT_RETRY_DELAYS_SECONDS,
    kind: 'list of seconds',
    parse: parseRetryDelays,
    doc: 'Delays before each retry. Their number is the number of retries.',
  }),
  timeoutMs: integer({
    env: 'DISPATCHER_TIMEOUT_MS',
    fallback: 5000,
    min: 10,
    max: 8000,
    doc: 'Time limit of one attempt in milliseconds, from DNS lookup to the status line.',
  }),
  proxyUrl: httpUrl({
    env: 'DISPATCHER_PROXY_URL',
    optional: true,
    secret: true,
    doc: 'Egress proxy. When set, the proxy is responsible for checking target addresses.',
  }),
  bodyCacheMib: integer({
    env: 'DISPATCHER_BODY_CACHE_MIB',
    fallback: 64,
    max: 16_384,
    doc: 'Memory for cached event bodies, shared by retries and endpoints. 0 disables the cache.',
  }),
  adminToken: text({
    env: 'DISPATCHER_ADMIN_TOKEN',
    optional: true,
    secret: true,
    minBytes: 32,
    doc: 'Password of the pages for operators at `/admin` and `/queues`, with any user name. Required outside development. Without it they are off.',
  }),
  ...brandSettings('DISPATCHER'),
})

export type DispatcherConfig = ConfigOf<typeof settings>

function parseRetryDelays(raw: string): readonly number[] {
  const delays = raw.split(',').map((item) => item.trim())
  if (delays.length > 20 || !delays.every((item) => /^\d{1,6}(\.\d{1,3})?$/.test(item)))
    throw new Error('must be up to 20 numbers of seconds, separated by commas')
  return delays.map(Number)
}
