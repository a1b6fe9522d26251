import { setTimeout as sleep } from 'node:timers/promises'
import { createLogger, createProcessLog, type Logger } from '@signet/telemetry'
import type { Drain } from './drain.js'

/** A running service. `close` lets requests finish and releases resources in reverse order. */
export type Service = {
  /** Runs before `close` when SIGTERM asks the process to stop. */
  readonly drain?: Drain
  close(): Promise<void>
}

/** Longer than the 10 s that a listener gives to requests, because the resources they used must be closed after them. */
const STOP_LIMIT_MS = 13_000

/**
 * Runs a process from start to exit: start, wait for SIGINT, SIGTERM or the end of the parent that forked us, drain, close, exit. Only
 * SIGTERM drains, because platforms use it to move requests elsewhere, and a second signal ends the wait. A failed start says why (for
 * a `ConfigError`, it lists all problems) and exits with 1. A stop that takes longer than 13 s (`stopLimitMs`) also exits with 1, because
 * a stuck connection must not delay a deploy, nor must a start that waits for one.
 */
export async function runService(
  component: string,
  start: () => Promise<Service>,
  { stopLimitMs = STOP_LIMIT_MS }: { stopLimitMs?: number } = {},
): Promise<void> {
  const processLog = createProcessLog(component)
  const log = createLogger({ level: 'info', component })
  const stop = new AbortController()
  const now = new AbortController()
  const limitStop = () => setTimeout(() => process.exit(1), stopLimitMs).unref()
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
    let startLimit: NodeJS.Timeout | undefined
    const limitStart = () => (startLimit = limitStop())
    stop.signal.addEventListener('abort', limitStart)
    const service = await start()
    stop.signal.removeEventListener('abort', limitStart)
    clearTimeout(startLimit)
    if (!stop.signal.aborted) await new Promise((resolve) => stop.signal.addEventListener('abort', resolve))
    const drainMs = service.drain?.durationMs ?? 0
    log.info('draining', { seconds: drainMs / 1000 })
    service.drain?.begin()
    await sleep(drainMs, undefined, { signal: now.signal }).catch(() => undefined)
    limitStop()
    await service.close()
    log.info('stopped')
    process.exit(0)
  } catch (error) {
    logFailure(processLog, error)
    process.exit(1)
  }
}

/** Runs a task that ends, such as a migration, and logs like a service. A failure ends in exit code 1. */
export async function runTask(component: string, run: (log: Logger) => Promise<unknown>): Promise<void> {
  const processLog = createProcessLog(component)
  try {
    await withLogger(component, run)
  } catch (error) {
    logFailure(processLog, error)
    process.exitCode = 1
  }
}

/** Resolves once everything that `run` logged is written. */
export async function withLogger(component: string, run: (log: Logger) => Promise<unknown>): Promise<void> {
  const log = createLogger({ level: 'info', component })
  try {
    await run(log)
  } finally {
    await log.close()
  }
}

/** Errors for which the message is enough, with one problem per line. All others are logged with their stack. */
const FOR_OPERATORS: ReadonlySet<string> = new Set(['ConfigError', 'ConnectError', 'ListenError'])

function logFailure(log: Logger, error: unknown): void {
  const isForOperators = error instanceof Error && FOR_OPERATORS.has(error.name)
  log.log('fatal', 'failed', isForOperators ? { problems: error.message.split('\n') } : { error })
}
