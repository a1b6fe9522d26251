import { Cluster, Redis, type RedisOptions } from 'ioredis'

export type RedisSettings = {
  /**
   * `redis://` or `rediss://`. With sentinels its host is the name of the master group; with cluster nodes it gives only
   * credentials and TLS.
   */
  url: string
  /** `host:port` of each sentinel; empty or left out for none. */
  sentinels?: readonly string[]
  /** `host:port` of some nodes of a cluster; the others are discovered. */
  clusterNodes?: readonly string[]
}

/**
 * `worker`: waits for Redis as long as it takes, as BullMQ's blocking reads need. `producer`: fails within two seconds, so
 * that an API call does not hang on a schedule that the sweeper makes up for.
 */
export type RedisRole = 'worker' | 'producer'

/** One connection to a standalone server, through sentinels, or to a cluster, as the settings say (contract G.3). */
export function connectRedis(settings: RedisSettings, role: RedisRole): Redis | Cluster {
  const { clusterNodes = [] } = settings
  if (clusterNodes.length === 0) return new Redis(redisOptions(settings, role))
  return new Cluster(clusterNodes.map(hostAndPort), {
    // A cluster has database 0 only.
    redisOptions: { ...sharedOptions(new URL(settings.url), role), db: undefined },
    enableOfflineQueue: role === 'worker',
    clusterRetryStrategy: reconnectDelayMs,
  })
}

/** What ioredis is told for one server or sentinels; apart, so that it can be looked at without connecting. */
export function redisOptions({ url: text, sentinels = [] }: RedisSettings, role: RedisRole): RedisOptions {
  const url = new URL(text)
  return {
    ...sharedOptions(url, role),
    ...(sentinels.length > 0
      ? { sentinels: sentinels.map(hostAndPort), name: url.hostname }
      : { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(url.port || 6379) }),
    enableOfflineQueue: role === 'worker',
    retryStrategy: reconnectDelayMs,
  }
}

/**
 * A connection that has waited so long for an answer is given up: a server whose machine is gone without a word would
 * otherwise hold it for a quarter of an hour, until TCP notices. BullMQ's blocking reads end after 10 s by themselves, and a
 * producer's commands have failed by then, each by itself, which alone does not end their connection.
 */
const SILENCE_MS = { worker: 30_000, producer: 5_000 }

const reconnectDelayMs = (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 6), 2000)

function sharedOptions(url: URL, role: RedisRole) {
  if (url.protocol !== 'redis:' && url.protocol !== 'rediss:') {
    throw new RangeError('the Redis URL must start with redis:// or rediss://')
  }
  const patience =
    role === 'worker'
      ? { maxRetriesPerRequest: null, enableAutoPipelining: true }
      : { maxRetriesPerRequest: 1, connectTimeout: 2000, commandTimeout: 2000, disconnectTimeout: 200 }
  return {
    ...patience,
    socketTimeout: SILENCE_MS[role],
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
