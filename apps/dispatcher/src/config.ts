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
import { SecretBox } from '@signet/webhook-core'

/** Contract G.3. `WEBHOOKS_` settings are the ones the webhooks API has too and must agree with. */
export const settings = defineSettings({
  nodeEnv: text({
    env: 'NODE_ENV',
    fallback: 'development',
    doc: '`production` makes the start-up rules strict.',
  }),
  logLevel: choice({
    env: ['DISPATCHER_LOG_LEVEL', 'WEBHOOKS_LOG_LEVEL', 'LOG_LEVEL'],
    choices: logLevels,
    fallback: 'info',
    doc: 'Least severe level that is logged.',
  }),
  databaseUrl: text({
    env: ['WEBHOOKS_DATABASE_URL', 'DATABASE_URL'],
    secret: true,
    pattern: /^postgres(ql)?:\/\//,
    expected: 'a postgres:// URL',
    doc: 'PostgreSQL of the webhooks service; its migrations are run by that service.',
  }),
  redisUrl: text({
    env: 'WEBHOOKS_REDIS_URL',
    secret: true,
    pattern: /^rediss?:\/\//,
    expected: 'a redis:// or rediss:// URL',
    doc: 'Redis of the queues. With sentinels its host is the name of the master group; with a cluster it gives only credentials and TLS.',
  }),
  redisSentinels: list({
    env: 'WEBHOOKS_REDIS_SENTINELS',
    fallback: [],
    doc: 'Redis Sentinels as `host:port`.',
  }),
  redisClusterNodes: list({
    env: 'WEBHOOKS_REDIS_CLUSTER_NODES',
    fallback: [],
    doc: 'Some nodes of a Redis Cluster as `host:port`.',
  }),
  queuePrefix: text({
    env: 'WEBHOOKS_QUEUE_PREFIX',
    fallback: '{webhooks}',
    pattern: /^[\w{}-]{1,64}$/,
    expected: 'letters, digits, `_`, `-` and braces',
    doc: 'Prefix of all queue keys. The braces keep them on one node of a cluster.',
  }),
  secretBox: parsed<SecretBox, { env: string; secret: true; doc: string }>({
    env: 'WEBHOOKS_SECRET_KEYS',
    secret: true,
    kind: 'keyid:base64 list',
    parse: (raw) => SecretBox.parse(raw),
    doc: 'Keys of the stored signing secrets: `keyid:base64(32 bytes)`, all of them open.',
  }),
  allowPrivateTargets: boolean({
    env: 'WEBHOOKS_ALLOW_PRIVATE_TARGETS',
    fallback: false,
    doc: 'Deliver to private addresses and over http. Development and tests only; refused in production.',
  }),
  port: integer({
    env: ['DISPATCHER_PORT', 'PORT'],
    fallback: 8084,
    max: 65535,
    doc: 'Health, metrics and the queue dashboard; private network. 0 picks a free one.',
  }),
  host: text({
    env: 'DISPATCHER_HOST',
    optional: true,
    doc: 'Address to listen on; all of them when left out.',
  }),
  concurrency: integer({
    env: 'DISPATCHER_CONCURRENCY',
    fallback: 100,
    min: 1,
    max: 10_000,
    doc: 'Attempts in flight in this process.',
  }),
  endpointConcurrency: integer({
    env: 'DISPATCHER_ENDPOINT_CONCURRENCY',
    fallback: 8,
    min: 1,
    max: 1000,
    doc: 'Attempts in flight for one endpoint in this process.',
  }),
  retryDelaysSeconds: parsed<readonly number[], { env: string; fallback: readonly number[]; doc: string }>({
    env: 'DISPATCHER_RETRY_DELAYS_SECONDS',
    fallback: [60, 300, 900, 900, 900],
    kind: 'list of seconds',
    parse: parseRetryDelays,
    doc: 'Waiting times before the second, third and following attempts; their number is the number of retries.',
  }),
  timeoutMs: integer({
    env: 'DISPATCHER_TIMEOUT_MS',
    fallback: 5000,
    min: 10,
    max: 8000,
    doc: 'Time limit of one attempt, from resolving the name to the status line, in milliseconds.',
  }),
  proxyUrl: httpUrl({
    env: 'DISPATCHER_PROXY_URL',
    optional: true,
    secret: true,
    doc: 'Egress proxy. Then checking addresses is its task.',
  }),
  bodyCacheMib: integer({
    env: 'DISPATCHER_BODY_CACHE_MIB',
    fallback: 64,
    max: 16_384,
    doc: 'Memory for frozen bodies, so that retries and other endpoints do not read them again. 0 is no cache.',
  }),
  adminToken: text({
    env: 'DISPATCHER_ADMIN_TOKEN',
    optional: true,
    secret: true,
    minBytes: 32,
    doc: 'Guards the queue dashboard at `/queues` (any user name, this as password); required outside development. Without it there is no dashboard.',
  }),
})

export type DispatcherConfig = ConfigOf<typeof settings>

function parseRetryDelays(raw: string): readonly number[] {
  const delays = raw.split(',').map((item) => item.trim())
  if (delays.length > 20 || !delays.every((item) => /^\d{1,6}(\.\d{1,3})?$/.test(item)))
    throw new Error('must be up to 20 numbers of seconds, separated by commas')
  return delays.map(Number)
}
