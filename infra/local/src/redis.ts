import { mkdirSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { type Guarded, startGuarded } from './child.js'
import { leasePort } from './ports.js'
import { startContainer } from './redis/container.js'
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
}

/** What containers cannot do. */
const NEEDS_A_PROGRAM = 'needs redis-server or valkey-server on this machine.'

export type RedisServer = Awaited<ReturnType<typeof startRedis>>

/** Starts a private Redis or Valkey on 127.0.0.1 and resolves when it answers. Dies with this process. */
export async function startRedis({ dir, port: wanted, appendOnly, cluster, replicaOf }: RedisOptions) {
  const program = await findRedis()
  const inMemory = ['--save', '', '--maxmemory-policy', 'noeviction'] // BullMQ's jobs must not be evicted
  const launch = async (port: number, logFile: string): Promise<Guarded> => {
    if (program.image !== undefined) {
      if (cluster || replicaOf !== undefined) throw new Error(`A group of Redis servers ${NEEDS_A_PROGRAM}`)
      return startContainer(program, { port, logFile, args: inMemory })
    }
    const args = [
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, ...inMemory],
      ...['--appendonly', appendOnly ? 'yes' : 'no', '--appendfsync', 'everysec'],
      ...(replicaOf === undefined ? [] : ['--replicaof', `127.0.0.1 ${replicaOf}`]),
      // The default port of the cluster's own traffic is 10000 higher, and may not exist or not be free.
      ...(cluster ? ['--cluster-enabled', 'yes', '--cluster-port', String(await leasePort())] : []),
    ]
    return launchIn(dir, program, args, logFile)
  }
  const server = await startIn(dir, 'Redis', launch, wanted)
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
  const program = await findRedis()
  if (program.image !== undefined) throw new Error(`A sentinel ${NEEDS_A_PROGRAM}`)
  const file = join(dir, 'sentinel.conf')
  return startIn(dir, 'Sentinel', (port, logFile) => {
    const lines = [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${dir}`,
      `sentinel monitor ${group} 127.0.0.1 ${masterPort} ${quorum}`,
      `sentinel down-after-milliseconds ${group} ${downAfterMs}`,
      `sentinel failover-timeout ${group} ${4 * downAfterMs}`,
    ]
    writeFileSync(file, `${lines.join('\n')}\n`)
    return launchIn(dir, program, [file, '--sentinel'], logFile)
  })
}

type Launch = (port: number, logFile: string) => Promise<Guarded>

function startIn(dir: string, name: string, launch: Launch, port?: number): Promise<ServerProcess> {
  mkdirSync(dir, { recursive: true })
  const logFile = join(dir, `${name.toLowerCase()}.log`)
  return startServer({ name, port, logFile, launch: (port) => launch(port, logFile), isReady: answersPing })
}

function launchIn(dir: string, { command, env }: RedisProgram, args: string[], logFile: string) {
  return startGuarded({
    ...{ command, args, logFile, cwd: dir, env: { ...process.env, ...env } },
    stopSignal: 'TERM',
  })
}

function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1', timeout: 500 })
    const finish = (answer: boolean): void => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('timeout', () => finish(false))
    socket.once('error', () => finish(false))
    socket.once('connect', () => socket.write('PING\r\n'))
    socket.once('data', (data) => finish(data.toString().startsWith('+PONG')))
  })
}
