import { mkdirSync, readFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Guarded, startGuarded } from './child.js'
import { leasePort } from './ports.js'
import { findRedisProgram } from './redis-installation.js'

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

export interface RedisServer {
  readonly port: number
  readonly pid: number
  readonly exited: Guarded['exited']
  readonly url: string
  stop(): Promise<void>
  /** For tests of crashes; the returned promise ends when the server is gone. */
  kill(signal: NodeJS.Signals): Promise<void>
}

const READY_TIMEOUT_MS = 15_000
const ATTEMPTS = 5

/** Starts a private Redis or Valkey on 127.0.0.1 and resolves when it answers. Dies with this process. */
export async function startRedis(options: RedisOptions): Promise<RedisServer> {
  const program = await findRedisProgram()
  mkdirSync(options.dir, { recursive: true })
  const logFile = join(options.dir, 'redis.log')
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await leasePort())
    const server = await startGuarded({
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
    if (await becomesReady(server, port)) return handle(server, port)
    const said = readFileSync(logFile, 'utf8').trim().split('\n').slice(-15).join('\n')
    const portWasTaken = options.port === undefined && said.includes('Address already in use')
    if (attempt === ATTEMPTS || !portWasTaken)
      throw new Error(`Redis did not start on port ${port}:\n${said}`)
  }
}

function handle(server: Guarded, port: number): RedisServer {
  return {
    port,
    pid: server.pid,
    exited: server.exited,
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      await server.stop()
    },
    async kill(signal) {
      server.kill(signal)
      await server.exited
    },
  }
}

async function becomesReady(server: Guarded, port: number): Promise<boolean> {
  const deadline = Date.now() + READY_TIMEOUT_MS
  while (server.running && Date.now() < deadline) {
    if (await answersPing(port)) return server.running
    await sleep(15)
  }
  await server.stop()
  return false
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
