import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { startGuarded } from './child.js'
import { findRedis, type RedisProgram } from './redis/ways.js'
import { startServer } from './server-process.js'

export interface RedisOptions {
  /** Working folder for its log and for its append-only file, if it has one. */
  dir: string
  /** Port on 127.0.0.1. If omitted, a free one. */
  port?: number
  /** Keeps the data across restarts and crashes, unless the server runs in a container. */
  appendOnly?: boolean
  /** Additional arguments, such as `--replicaof`, which come first. */
  settings?: readonly string[]
  /** If omitted, the one that is found on this machine. */
  program?: RedisProgram
}

export type RedisServer = Awaited<ReturnType<typeof startRedis>>

const ANSWER_MS = 20_000
// BullMQ's jobs must not be evicted.
const ALWAYS = ['--save', '', '--maxmemory-policy', 'noeviction']

/** Starts a private Redis or Valkey on 127.0.0.1 and resolves when it answers. It ends with this process. */
export async function startRedis({ dir, port, appendOnly, settings = [], ...given }: RedisOptions) {
  const { command, env, title, container } = given.program ?? (await findRedis())
  const place = container ? [] : ['--bind', '127.0.0.1', '--dir', dir]
  const kept = appendOnly && !container ? ['--appendonly', 'yes', '--appendfsync', 'everysec'] : []
  mkdirSync(dir, { recursive: true })
  const logFile = join(dir, 'redis.log')
  const server = await startServer({
    ...{ name: 'Redis', port },
    launch: async (port) => {
      const name = `signet-redis-${randomUUID()}`
      const args = [...settings, '--port', String(port), ...ALWAYS, ...place, ...kept]
      const program = await startGuarded({
        ...{ command, logFile, cwd: dir, env: { ...process.env, ...env }, stopSignal: 'TERM' },
        args: [...(container?.(port, name) ?? []), ...args],
      })
      // The engine's client passes signals on, but not SIGKILL.
      const kill = (signal: string) => void spawnSync(command, ['kill', '--signal', signal, name])
      return container ? Object.assign(program, { kill }) : program
    },
    isReady: (_, port) =>
      inRedis(`redis://127.0.0.1:${port}`, (client) => client.ping()).then(
        () => true,
        () => false,
      ),
  })
  return {
    ...server,
    url: `redis://127.0.0.1:${server.port}`,
    /** Tells people which server is running, and where, unless it is a program of this machine. */
    title,
  }
}

export async function inRedis(url: string, work: (client: Redis) => Promise<unknown>): Promise<void> {
  const client = new Redis(url, { lazyConnect: true, connectTimeout: ANSWER_MS, retryStrategy: () => null })
  // The rejection of `connect` contains the reason. Without a listener, it would also be printed.
  client.on('error', () => {})
  try {
    await client.connect()
    await work(client)
  } finally {
    client.disconnect()
  }
}
