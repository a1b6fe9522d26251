import { mkdirSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { type Guarded, startGuarded } from './child.js'
import { leasePort } from './ports.js'
import { findRedisProgram } from './redis-installation.js'
import { type ServerProcess, startServer } from './server-process.js'

export interface RedisOptions {
  /** Working folder: its log, and its append-only file if any. */
  dir: string
  /** Port on 127.0.0.1; a free one when left out. */
  port?: number
  /** Keep the data over restarts and crashes. */
  appendOnly?: boolean
  /** Run as one node of a cluster that is still to be formed. */
  cluster?: boolean
}

export interface RedisServer extends ServerProcess {
  readonly url: string
}

/** Starts a private Redis or Valkey on 127.0.0.1 and resolves when it answers. Dies with this process. */
export async function startRedis(options: RedisOptions): Promise<RedisServer> {
  const program = await findRedisProgram()
  mkdirSync(options.dir, { recursive: true })
  const logFile = join(options.dir, 'redis.log')
  const launch = async (port: number): Promise<Guarded> =>
    startGuarded({
      command: program.command,
      args: [
        ...['--port', String(port), '--bind', '127.0.0.1', '--dir', options.dir],
        ...['--save', '', '--appendonly', options.appendOnly ? 'yes' : 'no', '--appendfsync', 'everysec'],
        ...['--maxmemory-policy', 'noeviction'], // BullMQ's jobs must not be evicted
        // The default port of the cluster's own traffic is 10000 higher, and may not exist or not be free.
        ...(options.cluster ? ['--cluster-enabled', 'yes', '--cluster-port', String(await leasePort())] : []),
      ],
      stopSignal: 'TERM',
      logFile,
      cwd: options.dir,
      env: { ...process.env, ...program.env },
    })
  const isReady = (_: Guarded, port: number) => answersPing(port)
  const server = await startServer({ name: 'Redis', port: options.port, logFile, launch, isReady })
  return { ...server, url: `redis://127.0.0.1:${server.port}` }
}

function answersPing(port: number): Promise<boolean> {
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
