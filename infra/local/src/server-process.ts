import { setTimeout as sleep } from 'node:timers/promises'
import type { Guarded } from './child.js'
import { leasePort } from './ports.js'
import { waitUntil } from './wait-until.js'

/** A server on 127.0.0.1 that accepts connections. */
export type ServerProcess = Awaited<ReturnType<typeof startServer>>

interface Launch {
  name: string
  /** If omitted, a free one. PostgreSQL and Redis cannot pick one themselves. */
  port?: number
  launch: (port: number) => Promise<Guarded>
  isReady: (server: Guarded, port: number) => boolean | Promise<boolean>
  /** Matches the log after a temporary failure, when another attempt may succeed. */
  passing?: RegExp
}

const READY_TIMEOUT_MS = 120_000
const ATTEMPTS = 8

/** Launches a server and resolves when it is ready. Tries again after a temporary failure. */
export async function startServer({ name, port: wanted, launch, isReady, passing }: Launch) {
  const port = wanted ?? (await leasePort())
  for (let attempt = 1; ; attempt += 1) {
    const server = await launch(port)
    const { pid, exited } = server
    const lastOutput = () => lastLines(server.log())
    const answer = { describe: `answer from ${name}`, seen: lastOutput, timeoutMs: READY_TIMEOUT_MS }
    try {
      await waitUntil(async () => !server.running || (await isReady(server, port)) || undefined, answer)
    } catch (error) {
      await server.stop()
      throw error
    }
    if (server.running) {
      return {
        ...{ name, port, pid, exited, lastOutput },
        /** Stops cleanly, with everything that was committed on disk. */
        stop: async () => void (await server.stop()),
        /** For tests of crashes. Resolves when the server is gone. */
        async kill(signal: NodeJS.Signals): Promise<void> {
          server.kill(signal)
          await exited
        },
      }
    }
    if (attempt === ATTEMPTS || !passing?.test(lastOutput()))
      throw new Error(`${name} did not start on port ${port}:\n${lastOutput()}`)
    await sleep(250)
  }
}

export const lastLines = (log: string): string => log.trimEnd().split('\n').slice(-15).join('\n')
