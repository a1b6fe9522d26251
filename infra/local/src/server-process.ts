import { setTimeout as sleep } from 'node:timers/promises'
import type { Guarded } from './child.js'
import { LogMark } from './log-mark.js'
import { leasePort } from './ports.js'
import { waitUntil } from './wait-until.js'

/** A database server on 127.0.0.1 that takes connections. */
export type ServerProcess = Awaited<ReturnType<typeof startServer>>

interface Launch {
  /** For people. */
  name: string
  /** A free one when left out. */
  port?: number
  logFile: string
  launch: (port: number) => Promise<Guarded>
  isReady: (port: number, pid: number) => boolean | Promise<boolean>
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
    const answer = { describe: `answer from ${name}`, seen: () => log.read(), timeoutMs: READY_TIMEOUT_MS }
    try {
      await waitUntil(async () => !server.running || (await isReady(port, server.pid)) || undefined, answer)
    } catch (error) {
      await server.stop()
      throw error
    }
    if (server.running) return handle(server, port)
    const said = log.read()
    const mayPass = passing?.test(said) || (wanted === undefined && PORT_IS_TAKEN.test(said))
    if (attempt === ATTEMPTS || !mayPass) throw new Error(`${name} did not start on port ${port}:\n${said}`)
    await sleep(250)
  }
}

const handle = (server: Guarded, port: number) => ({
  port,
  pid: server.pid,
  exited: server.exited,
  /** Orderly: what was committed is on disk. */
  async stop(): Promise<void> {
    await server.stop()
  },
  /** For tests of crashes; the returned promise ends when the server is gone. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    server.kill(signal)
    await server.exited
  },
})
