import { createRequire } from 'node:module'
import type { Cluster, Redis, RedisOptions } from 'ioredis'

// Required and not imported. Before Node imports CommonJS it reads all files of the library to find the names it exports, which takes as
// long as running them.
const ioredis = createRequire(import.meta.url)('ioredis') as typeof import('ioredis')

export type RedisSettings = {
  /**
   * `redis://` or `rediss://`. With sentinels, the host is the name of the master group. With cluster nodes, only
   * credentials and TLS are used.
   */
  url: string
  /** `host:port` of each sentinel. With `rediss://` they are asked over TLS, too. */
  sentinels?: readonly string[]
  /** What the sentinels themselves ask for; the credentials of the URL are for the servers behind them. */
  sentinelPassword?: string | undefined
  /** `host:port` of some nodes of a cluster. The others are discovered. */
  clusterNodes?: readonly string[]
}

/** What the services call the same in their settings. */
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
 * `worker` waits for Redis without limit, as BullMQ's blocking reads require. `request` is for work that someone waits for: commands
 * fail at once without a connection and within two seconds with one. What a caller does then: decision 0155.
 */
export type RedisRole = 'worker' | 'request'

/** Connects to a standalone server, through sentinels, or to a cluster, depending on the settings. */
export function connectRedis(settings: RedisSettings, role: RedisRole): Redis | Cluster {
  const { clusterNodes = [] } = settings
  if (clusterNodes.length === 0) return new ioredis.Redis(redisOptions(settings, role))
  return new ioredis.Cluster(clusterNodes.map(hostAndPort), {
    // A cluster has database 0 only.
    redisOptions: { ...sharedOptions(new URL(settings.url), role), db: undefined },
    enableOfflineQueue: role === 'worker',
    clusterRetryStrategy: reconnectDelayMs,
    // Nodes are dialled by the name that their certificate has. ioredis would look up the address and check that.
    dnsLookup: (name, found) => {
      found(null, name)
    },
  })
}

/** ioredis options for one server or sentinels. Exported so that tests can check them without connecting. */
export function redisOptions(settings: RedisSettings, role: RedisRole): RedisOptions {
  const { sentinels = [], sentinelPassword } = settings
  const url = new URL(settings.url)
  const shared = sharedOptions(url, role)
  return {
    ...shared,
    ...(sentinels.length > 0
      ? {
          sentinels: sentinels.map(hostAndPort),
          name: url.hostname,
          sentinelPassword,
          // Otherwise ioredis ignores `tls`, and sends the password in clear.
          sentinelTLS: shared.tls,
          enableTLSForSentinelMode: shared.tls !== undefined,
        }
      : { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(url.port || 6379) }),
    enableOfflineQueue: role === 'worker',
    retryStrategy: reconnectDelayMs,
    // Behind one address, another server may be the master by now. The command fails, and its caller decides (decision 0155).
    // Redis 6 puts other words before those of a command in a script, and BullMQ writes in scripts.
    reconnectOnError: ({ message }) => message.includes('READONLY'),
  }
}

/**
 * Closes Redis connections that stop responding. Otherwise a crashed machine would go unnoticed until TCP gives up, about a
 * quarter of an hour later. BullMQ's blocking reads end after 10 s on their own. Commands of a `request` connection time out
 * earlier, but that does not close it.
 */
const SOCKET_TIMEOUT_MS = { worker: 30_000, request: 5_000 }

const reconnectDelayMs = (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 6), 2000)

function sharedOptions(url: URL, role: RedisRole) {
  if (url.protocol !== 'redis:' && url.protocol !== 'rediss:') {
    throw new RangeError('the Redis URL must start with redis:// or rediss://')
  }
  const waiting =
    role === 'worker'
      ? { maxRetriesPerRequest: null }
      : { maxRetriesPerRequest: 1, connectTimeout: 2000, commandTimeout: 2000, disconnectTimeout: 200 }
  return {
    ...waiting,
    socketTimeout: SOCKET_TIMEOUT_MS[role],
    username: decodeURIComponent(url.username) || undefined,
    password: decodeURIComponent(url.password) || undefined,
    db: Number(url.pathname.slice(1) || 0),
    tls: url.protocol === 'rediss:' ? {} : undefined,
  }
}

function hostAndPort(node: string): { host: string; port: number } {
  const [, host = '', port = ''] = /^\[?([^\]]+?)\]?:([0-9]{1,5})$/.exec(node.trim()) ?? []
  if (host === '') throw new RangeError('Redis nodes must be given as host:port')
  return { host, port: Number(port) }
}
