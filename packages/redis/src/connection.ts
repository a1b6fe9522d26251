import { createRequire } from 'node:module'
import type { Cluster, Redis, RedisOptions } from 'ioredis'
import { parseRedisNode, parseRedisUrl } from './addresses.js'

// Loaded with `require`, not `import`: before Node imports CommonJS, it reads all files of the library to find its exports, which takes
// as long as running them.
const ioredis = createRequire(import.meta.url)('ioredis') as typeof import('ioredis')

export type RedisSettings = {
  /**
   * `redis://` or `rediss://`. With sentinels, the host is the name of the master group. With cluster nodes, only
   * credentials and TLS are used.
   */
  url: string
  /** `host:port` of each sentinel, IPv6 addresses in brackets. With `rediss://` they are asked over TLS, too. */
  sentinels?: readonly string[]
  /** Password of the sentinels themselves. The URL's credentials are for the servers behind them. */
  sentinelPassword?: string | undefined
  /** `host:port` of some nodes of a cluster. The others are discovered. */
  clusterNodes?: readonly string[]
}

/** Maps an app's settings, which have the same names in every service with Redis. */
export const redisSettings = (config: {
  redisUrl: string
  redisSentinels: readonly string[]
  redisSentinelPassword?: string | undefined
  redisClusterNodes: readonly string[]
}): RedisSettings => ({
  url: config.redisUrl,
  sentinels: config.redisSentinels,
  sentinelPassword: config.redisSentinelPassword,
  clusterNodes: config.redisClusterNodes,
})

/**
 * `worker` waits for Redis without limit, as BullMQ's blocking reads require. `request` is for work that a caller waits for: commands
 * fail at once without a connection, and within two seconds with one. Decision 0155 says what callers do then.
 */
export type RedisRole = 'worker' | 'request'

/** Connects to a standalone server, through sentinels, or to a cluster, depending on the settings. */
export function connectRedis(settings: RedisSettings, role: RedisRole): Redis | Cluster {
  const { clusterNodes = [] } = settings
  if (clusterNodes.length === 0) return new ioredis.Redis(redisOptions(settings, role))
  return new ioredis.Cluster(clusterNodes.map(parseRedisNode), {
    // A cluster has database 0 only.
    redisOptions: { ...sharedOptions(settings.url, role), db: undefined },
    enableOfflineQueue: role === 'worker',
    clusterRetryStrategy: reconnectDelayMs,
    // Connects to nodes by the name in their certificate. ioredis would look up the address and check the certificate against that.
    dnsLookup: (name, found) => {
      found(null, name)
    },
  })
}

/** ioredis options for one server or sentinels. Exported so that tests can check them without connecting. */
export function redisOptions(settings: RedisSettings, role: RedisRole): RedisOptions {
  const { sentinels = [], sentinelPassword } = settings
  const { hostname, port } = parseRedisUrl(settings.url)
  const shared = sharedOptions(settings.url, role)
  return {
    ...shared,
    ...(sentinels.length > 0
      ? {
          sentinels: sentinels.map(parseRedisNode),
          name: hostname,
          sentinelPassword,
          // Without this, ioredis ignores `tls` and sends the password in plain text.
          sentinelTLS: shared.tls,
          enableTLSForSentinelMode: shared.tls !== undefined,
        }
      : { host: hostname.replace(/^\[(.*)\]$/, '$1'), port }),
    enableOfflineQueue: role === 'worker',
    retryStrategy: reconnectDelayMs,
    // Another server behind the same address may have become the master. The command fails, and its caller decides (decision 0155). In
    // scripts, which BullMQ uses for writes, Redis 6 puts more text before the command's message.
    reconnectOnError: ({ message }) => message.includes('READONLY'),
  }
}

/**
 * Closes Redis connections that stop responding. Otherwise a crashed machine would go unnoticed until TCP gives up, after about a
 * quarter of an hour, and after lost packets TCP may wait for as long again. Blocking reads must end earlier
 * (apps/dispatcher/src/queues/queue-worker.ts). Commands of a `request` connection time out sooner, but that does not close the
 * connection.
 */
const SOCKET_TIMEOUT_MS = 5_000
const CONNECT_TIMEOUT_MS = 2_000

const reconnectDelayMs = (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 6), 1000)

function sharedOptions(url: string, role: RedisRole) {
  const { username, password, db, tls } = parseRedisUrl(url)
  const waiting =
    role === 'worker'
      ? { maxRetriesPerRequest: null }
      : { maxRetriesPerRequest: 1, commandTimeout: 2000, disconnectTimeout: 200 }
  return {
    ...waiting,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    username,
    password,
    db,
    tls,
  }
}
