import { mkdirSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { type Guarded, startGuarded } from './child.js'
import { leasePort } from './ports.js'
import { startContainer } from './redis/container.js'
import { findRedis } from './redis/find.js'
import type { RedisProgram } from './redis/ways.js'
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
}

export interface RedisServer extends ServerProcess {
  readonly url: string
  /** For people: which server runs, and where when not as a program of this machine. */
  readonly title: string
}

/** Starts a private Redis or Valkey on 127.0.0.1 and resolves when it answers. Dies with this process. */
export async function startRedis(options: RedisOptions): Promise<RedisServer> {
  const program = await findRedis()
  mkdirSync(options.dir, { recursive: true })
  const logFile = join(options.dir, 'redis.log')
  const launch = (port: number) => launchRedis(program, { ...options, port, logFile })
  const isReady = (_: Guarded, port: number) => answersPing(port)
  const server = await startServer({ name: 'Redis', port: options.port, logFile, launch, isReady })
  return { ...server, url: `redis://127.0.0.1:${server.port}`, title: program.title }
}

type Launch = RedisOptions & { port: number; logFile: string }

async function launchRedis(
  program: RedisProgram,
  { dir, port, logFile, ...options }: Launch,
): Promise<Guarded> {
  const args = ['--save', '', '--maxmemory-policy', 'noeviction'] // BullMQ's jobs must not be evicted
  if (program.image !== undefined) {
    if (options.cluster || options.replicaOf !== undefined)
      throw new Error('Several Redis servers need redis-server or valkey-server on this machine.')
    return startContainer(program, { port, logFile, args })
  }
  return startGuarded({
    command: program.command,
    args: [
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, ...args],
      ...['--appendonly', options.appendOnly ? 'yes' : 'no', '--appendfsync', 'everysec'],
      ...(options.replicaOf === undefined ? [] : ['--replicaof', `127.0.0.1 ${options.replicaOf}`]),
      // The default port of the cluster's own traffic is 10000 higher, and may not exist or not be free.
      ...(options.cluster ? ['--cluster-enabled', 'yes', '--cluster-port', String(await leasePort())] : []),
    ],
    stopSignal: 'TERM',
    logFile,
    cwd: dir,
    env: { ...process.env, ...program.env },
  })
}

export function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' })
    const finish = (answer: boolean): void => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(500, () => finish(false))
    socket.once('error', () => finish(false))
    socket.once('connect', () => socket.write('PING\r\n'))
    socket.once('data', (data) => finish(data.toString().startsWith('+PONG')))
  })
}
