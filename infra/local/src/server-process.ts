import { setTimeout as sleep } from 'node:timers/promises'
import type { Guarded } from './child.js'
import { LogMark } from './log-mark.js'
import { leasePort } from './ports.js'

/** A database server on 127.0.0.1 that takes connections. */
export interface ServerProcess {
  readonly port: number
  readonly pid: number
  readonly exited: Guarded['exited']
  /** Orderly: what was committed is on disk. */
  stop(): Promise<void>
  /** For tests of crashes; the returned promise ends when the server is gone. */
  kill(signal: NodeJS.Signals): Promise<void>
}

interface Launch {
  /** For people. */
  name: string
  /** A free one when left out. */
  port: number | undefined
  logFile: string
  launch: (port: number) => Promise<Guarded>
  isReady: (server: Guarded, port: number) => boolean | Promise<boolean>
  /** Matches the log after a temporary failure, when another attempt may succeed. */
  passing?: RegExp
}

/** As PostgreSQL, Redis and container engines say it. */
const PORT_IS_TAKEN = /address already in use|port is already allocated/i
const READY_TIMEOUT_MS = 120_000
const ATTEMPTS = 8

/** Launches a server and resolves when it is ready. Tries again after a temporary failure. */
export async function startServer({ name, port: wanted, logFile, launch, isReady, passing }: Launch) {
  for (let attempt = 1; ; attempt += 1) {
    const port = wanted ?? (await leasePort())
    const log = new LogMark(logFile)
    const server = await launch(port)
    if (await becomesReady(server, () => isReady(server, port))) return handle(server, port)
    const said = log.read()
    const mayPass = passing?.test(said) || (wanted === undefined && PORT_IS_TAKEN.test(said))
    if (attempt === ATTEMPTS || !mayPass) throw new Error(`${name} did not start on port ${port}:\n${said}`)
    await sleep(250)
  }
}

async function becomesReady(server: Guarded, isReady: () => boolean | Promise<boolean>): Promise<boolean> {
  const deadline = Date.now() + READY_TIMEOUT_MS
  while (server.running && Date.now() < deadline) {
    if (await isReady()) return server.running
    await sleep(10)
  }
  await server.stop()
  return false
}

function handle(server: Guarded, port: number): ServerProcess {
  return {
    port,
    pid: server.pid,
    exited: server.exited,
    async stop() {
      await server.stop()
    },
    async kill(signal) {
      server.kill(signal)
      await server.exited
    },
  }
}
