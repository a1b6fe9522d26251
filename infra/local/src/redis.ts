import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { startGuarded } from './child.js'
import { leasePort } from './ports.js'
import { findRedis, type RedisProgram } from './redis/ways.js'
import { type ServerProcess, startServer } from './server-process.js'

export interface RedisOptions {
  /** Working folder: its log, and its append-only file if any. */
  dir: string
  /** Port on 127.0.0.1; a free one when left out. */
  port?: number
  /** Keep the data over restarts and crashes, unless it runs in a container. */
  appendOnly?: boolean
  /** Run as one node of a cluster that is still to be formed. */
  cluster?: boolean
  /** Follow the server at this port of 127.0.0.1. */
  replicaOf?: number
  /** The one that is found here when left out. */
  program?: RedisProgram
}

export type RedisServer = Awaited<ReturnType<typeof startRedis>>

const ANSWER_MS = 20_000

/** Starts a private Redis or Valkey on 127.0.0.1 and resolves when it answers. Dies with this process. */
export async function startRedis({
  dir,
  port: wanted,
  appendOnly,
  cluster,
  replicaOf,
  ...given
}: RedisOptions) {
  const program = given.program ?? (await findRedis())
  const args = async (port: number): Promise<string[]> => [
    ...['--port', String(port), '--save', '', '--maxmemory-policy', 'noeviction'], // BullMQ's jobs must not be evicted
    ...(program.container ? [] : ['--bind', '127.0.0.1', '--dir', dir]),
    ...(appendOnly && !program.container ? ['--appendonly', 'yes', '--appendfsync', 'everysec'] : []),
    ...(replicaOf === undefined ? [] : ['--replicaof', `127.0.0.1 ${replicaOf}`]),
    // The default port of the cluster's own traffic is 10000 higher, and may not exist or not be free.
    ...(cluster ? ['--cluster-enabled', 'yes', '--cluster-port', String(await leasePort())] : []),
  ]
  const server = await startIn(dir, 'Redis', program, args, wanted)
  return {
    ...server,
    url: `redis://127.0.0.1:${server.port}`,
    /** For people: which server runs, and where when not as a program of this machine. */
    title: program.title,
  }
}

export interface SentinelOptions {
  /** Working folder: its log, and what it writes down about the group. */
  dir: string
  /** Name of the group of servers. */
  group: string
  /** Of the group's master, on 127.0.0.1. */
  masterPort: number
  /** How many sentinels must agree that the master is gone, and after how many milliseconds one thinks so. */
  quorum: number
  downAfterMs: number
}

/** Starts a sentinel, which watches a group of servers and makes a replica the master when the master is gone. */
export async function startSentinel(options: SentinelOptions): Promise<ServerProcess> {
  const { dir, group, masterPort, quorum, downAfterMs } = options
  const file = join(dir, 'sentinel.conf')
  const rules = [
    ...[`dir ${dir}`, 'bind 127.0.0.1', `sentinel monitor ${group} 127.0.0.1 ${masterPort} ${quorum}`],
    ...[`sentinel down-after-milliseconds ${group} ${downAfterMs}`],
    ...[`sentinel failover-timeout ${group} ${4 * downAfterMs}`],
  ]
  return startIn(dir, 'Sentinel', await findRedis(), (port) => {
    writeFileSync(file, `${[`port ${port}`, ...rules].join('\n')}\n`)
    return [file, '--sentinel']
  })
}

function startIn(
  dir: string,
  name: string,
  { command, env, container }: RedisProgram,
  args: (port: number) => string[] | Promise<string[]>,
  wanted?: number,
): Promise<ServerProcess> {
  mkdirSync(dir, { recursive: true })
  const logFile = join(dir, `${name.toLowerCase()}.log`)
  return startServer({
    ...{ name, port: wanted, logFile },
    launch: async (port) => {
      const containerName = `signet-redis-${randomUUID()}`
      const server = await startGuarded({
        ...{ command, logFile, cwd: dir, env: { ...process.env, ...env } },
        args: [...(container?.(port, containerName) ?? []), ...(await args(port))],
        stopSignal: 'TERM',
      })
      // The engine's client passes signals on, but not SIGKILL.
      const kill = (signal: string) => void spawnSync(command, ['kill', '--signal', signal, containerName])
      return container ? Object.assign(server, { kill }) : server
    },
    isReady: ({ port }) =>
      inRedis(`redis://127.0.0.1:${port}`, (client) => client.ping()).then(
        () => true,
        () => false,
      ),
  })
}

export async function inRedis(url: string, work: (client: Redis) => Promise<unknown>): Promise<void> {
  const client = new Redis(url, { lazyConnect: true, connectTimeout: ANSWER_MS, retryStrategy: () => null })
  // The reason is in the rejection of connect; without a listener it would be printed as well.
  client.on('error', () => {})
  try {
    await client.connect()
    await work(client)
  } finally {
    client.disconnect()
  }
}
