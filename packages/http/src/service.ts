/** A running service. `close` drains requests and releases what was opened, in reverse order. */
export type Service = { close(): Promise<void> }

const STOP_LIMIT_MS = 10_000

/**
 * The life of a process: start, wait for SIGINT, SIGTERM or the end of the parent that forked us, close, exit. A start
 * that fails prints its message (for a `ConfigError` the whole list of problems) and exits with 1; so does a stop that
 * takes longer than 10 s, because a stuck connection must not hold a deploy.
 */
export async function runService(start: () => Promise<Service>): Promise<void> {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  process.once('disconnect', () => stop.abort())
  try {
    const service = await start()
    if (!stop.signal.aborted) await new Promise((resolve) => stop.signal.addEventListener('abort', resolve))
    setTimeout(() => process.exit(1), STOP_LIMIT_MS).unref()
    await service.close()
    process.exit(0)
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`)
    process.exit(1)
  }
}

/** What these say is all that helps; for anything else the stack does. */
const FOR_OPERATORS: ReadonlySet<string> = new Set(['ConfigError', 'ListenError'])

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return FOR_OPERATORS.has(error.name) ? error.message : (error.stack ?? error.message)
}
