import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Guarded, startGuarded } from '../child.js'
import { answersPing } from '../redis.js'
import { type ServerProcess, startServer } from '../server-process.js'
import { findRedis } from './find.js'

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
  if (program.image !== undefined)
    throw new Error('A sentinel needs redis-server or valkey-server on this machine.')
  const { command } = program
  mkdirSync(dir, { recursive: true })
  const [logFile, file] = [join(dir, 'sentinel.log'), join(dir, 'sentinel.conf')]
  const launch = (port: number): Promise<Guarded> => {
    const lines = [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${dir}`,
      `sentinel monitor ${group} 127.0.0.1 ${masterPort} ${quorum}`,
      `sentinel down-after-milliseconds ${group} ${downAfterMs}`,
      `sentinel failover-timeout ${group} ${4 * downAfterMs}`,
    ]
    writeFileSync(file, `${lines.join('\n')}\n`)
    const env = { ...process.env, ...program.env }
    return startGuarded({
      command,
      args: [file, '--sentinel'],
      stopSignal: 'TERM',
      logFile,
      cwd: dir,
      env,
    })
  }
  const isReady = (_: Guarded, port: number) => answersPing(port)
  return startServer({ name: 'Sentinel', port: undefined, logFile, launch, isReady })
}
