import { readFileSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Guarded } from './child.js'
import { leasePort } from './ports.js'
import { waitUntil } from './wait-until.js'

/** A server on 127.0.0.1 that takes connections. */
export type ServerProcess = Awaited<ReturnType<typeof startServer>>

interface Launch {
  name: string
  /** A free one when left out. */
  port?: number
  logFile: string
  launch: (port: number) => Promise<Guarded>
  isReady: (started: { port: number; pid: number; log: () => string }) => boolean | Promise<boolean>
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
    // PostgreSQL and Redis cannot pick one themselves.
    const port = wanted ?? (await leasePort())
    const log = logFrom(logFile)
    const lastOutput = () => lastLines(log())
    const server = await launch(port)
    const started = { port, pid: server.pid, log }
    const answer = { describe: `answer from ${name}`, seen: lastOutput, timeoutMs: READY_TIMEOUT_MS }
    try {
      await waitUntil(async () => !server.running || (await isReady(started)) || undefined, answer)
    } catch (error) {
      await server.stop()
      throw error
    }
    if (server.running) {
      const { pid, exited } = server
      return {
        ...{ name, port, pid, exited, lastOutput },
        /** Orderly: what was committed is on disk. */
        stop: async () => void (await server.stop()),
        /** For tests of crashes; the returned promise ends when the server is gone. */
        async kill(signal: NodeJS.Signals): Promise<void> {
          server.kill(signal)
          await exited
        },
      }
    }
    const said = lastOutput()
    const mayPass = passing?.test(said) || (wanted === undefined && PORT_IS_TAKEN.test(said))
    if (attempt === ATTEMPTS || !mayPass) throw new Error(`${name} did not start on port ${port}:\n${said}`)
    await sleep(250)
  }
}

/** Reads what a log gets from now on. */
export function logFrom(file: string): () => string {
  const start = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  return () => readFileSync(file).subarray(start).toString('utf8')
}

export const lastLines = (log: string): string => log.trimEnd().split('\n').slice(-15).join('\n')
