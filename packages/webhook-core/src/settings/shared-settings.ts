import {
  boolean,
  defineSettings,
  list,
  nodeEnvironment,
  parsed,
  rule,
  text,
  type ConfigOf,
  type Rule,
} from '@signet/config'
import { parseDatabaseUrl } from '@signet/db'
import { parseRedisNode, parseRedisUrl } from '@signet/redis'
import { DEFAULT_QUEUE_PREFIX } from '../queue/default-prefix.js'
import { SecretBox } from '../signature/secret-box.js'

const redisNode = (node: string): string => {
  parseRedisNode(node)
  return node
}

/** Settings that must be the same for the API and the dispatcher, because both use the same database, queue and secrets. */
export const sharedSettings = defineSettings({
  nodeEnv: nodeEnvironment('`production` refuses http, private targets and development secrets.'),
  databaseUrl: parsed<string, { env: readonly string[]; secret: true; doc: string }>({
    env: ['WEBHOOKS_DATABASE_URL', 'DATABASE_URL'],
    secret: true,
    kind: 'text',
    parse: parseDatabaseUrl,
    doc: 'PostgreSQL of the API and the dispatcher. The API runs its migrations.',
  }),
  redisUrl: parsed<string, { env: string; secret: true; doc: string }>({
    env: 'WEBHOOKS_REDIS_URL',
    secret: true,
    kind: 'text',
    parse(raw) {
      parseRedisUrl(raw)
      return raw
    },
    doc: 'Redis for the queues and the rate limits. With Sentinel, the host is the name of the master group. With a cluster, only credentials and TLS are used.',
  }),
  redisSentinels: list({
    env: 'WEBHOOKS_REDIS_SENTINELS',
    fallback: [],
    item: redisNode,
    doc: 'Redis Sentinels as `host:port`, with IPv6 addresses in brackets.',
  }),
  redisSentinelPassword: text({
    env: 'WEBHOOKS_REDIS_SENTINEL_PASSWORD',
    optional: true,
    secret: true,
    doc: 'Password of the Sentinels themselves, if they have one. The password in WEBHOOKS_REDIS_URL is for the Redis servers.',
  }),
  redisClusterNodes: list({
    env: 'WEBHOOKS_REDIS_CLUSTER_NODES',
    fallback: [],
    item: redisNode,
    doc: 'Nodes of a Redis Cluster as `host:port`, with IPv6 addresses in brackets. Some are enough.',
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
    kind: 'list of `keyid:base64(32 bytes)`',
    parse: (raw) => SecretBox.parse(raw),
    doc: 'Keys that encrypt stored signing secrets. All of them can decrypt; the first one encrypts.',
  }),
  allowPrivateTargets: boolean({
    env: 'WEBHOOKS_ALLOW_PRIVATE_TARGETS',
    fallback: false,
    doc: 'Allow private addresses and http as receivers. For development and tests; refused in production.',
  }),
})

type SharedConfig = ConfigOf<typeof sharedSettings>

/** Rules across these settings, for `loadConfig`. */
export const sharedRules: readonly Rule<SharedConfig>[] = [
  rule(
    ({ nodeEnv, allowPrivateTargets }) => nodeEnv === 'production' && allowPrivateTargets,
    'WEBHOOKS_ALLOW_PRIVATE_TARGETS is refused in production',
  ),
  rule(
    ({ redisSentinels, redisClusterNodes }) => redisSentinels.length > 0 && redisClusterNodes.length > 0,
    'WEBHOOKS_REDIS_SENTINELS and WEBHOOKS_REDIS_CLUSTER_NODES cannot both be set',
  ),
]
