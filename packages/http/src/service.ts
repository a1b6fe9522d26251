import { setTimeout as sleep } from 'node:timers/promises'
import { type Drain } from './drain.js'

/** A running service. `close` lets requests finish and releases resources in reverse order. */
export type Service = {
  /** Comes before `close` when SIGTERM asks the process to go. */
  readonly drain?: Drain
  close(): Promise<void>
}

const STOP_LIMIT_MS = 10_000

/**
 * The life of a process: start, wait for SIGINT, SIGTERM or the end of the parent that forked us, drain, close, exit. Only
 * SIGTERM drains, because that is how a platform moves requests elsewhere, and a second signal ends the wait. A start
 * that fails prints its message (for a `ConfigError` the whole list of problems) and exits with 1; so does a stop that
 * takes longer than 10 s, because a stuck connection must not hold a deploy.
 */
export async function runService(start: () => Promise<Service>): Promise<void> {
  const stop = new AbortController()
  const now = new AbortController()
  const end = () => {
    stop.abort()
    now.abort()
  }
  process.once('SIGTERM', () => {
    stop.abort()
    process.once('SIGTERM', () => now.abort())
  })
  process.once('SIGINT', end)
  process.once('disconnect', end)
  try {
    const service = await start()
    if (!stop.signal.aborted) await new Promise((resolve) => stop.signal.addEventListener('abort', resolve))
    service.drain?.begin()
    await sleep(service.drain?.durationMs ?? 0, undefined, { signal: now.signal }).catch(() => undefined)
    setTimeout(() => process.exit(1), STOP_LIMIT_MS).unref()
    await service.close()
    process.exit(0)
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`)
    process.exit(1)
  }
}

/** The message of these says it all. For anything else the stack is printed. */
const FOR_OPERATORS: ReadonlySet<string> = new Set(['ConfigError', 'ListenError'])

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return FOR_OPERATORS.has(error.name) ? error.message : (error.stack ?? error.message)
}
