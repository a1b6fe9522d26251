export type FrozenTimeouts = {
  /** After how long each timeout that is waiting would run. */
  pendingMs(): number[]
  /** Runs what is due within this time. */
  advance(ms: number): void
  /** Lets the timeouts go on, each with the rest of its time. */
  thaw(): void
}

type Waiting = { run: () => void; dueMs: number }

/** What Node counts a timeout by, which its types do not declare. */
type Internals = { _idleTimeout: number }

const NEVER_MS = 2 ** 31 - 1

/**
 * Makes time limits pass only when the test says so: for everything in this process, `setTimeout` and `performance.now` stand still. What
 * ends meanwhile waited for no time limit, and what ends at `advance(1000)` waited for a second, however slow the machine is. Timeouts
 * that were set before, `AbortSignal.timeout`, and `node:timers/promises` go on.
 */
export function freezeTimeouts(): FrozenTimeouts {
  const real = { setTimeout, clearTimeout }
  const now = Object.getOwnPropertyDescriptor(performance, 'now')
  const frozenAt = performance.now()
  const waiting = new Map<unknown, Waiting>()
  let nowMs = 0

  const set = (act: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    const timeout = real.setTimeout(() => undefined, NEVER_MS)
    waiting.set(timeout, { run: () => act(...args), dueMs: nowMs + ms })
    return timeout
  }
  const clear = (timeout?: NodeJS.Timeout) => {
    waiting.delete(timeout)
    real.clearTimeout(timeout)
  }
  Object.assign(globalThis, { setTimeout: Object.assign(set, real.setTimeout), clearTimeout: clear })
  performance.now = () => frozenAt + nowMs

  const nextBy = (untilMs: number) =>
    [...waiting].filter(([, { dueMs }]) => dueMs <= untilMs).sort(([, a], [, b]) => a.dueMs - b.dueMs)[0]

  return {
    pendingMs: () => [...waiting.values()].map(({ dueMs }) => dueMs - nowMs),
    advance(ms) {
      const untilMs = nowMs + ms
      for (let next = nextBy(untilMs); next; next = nextBy(untilMs)) {
        const [timeout, { run, dueMs }] = next
        nowMs = dueMs
        clear(timeout as NodeJS.Timeout)
        run()
      }
      nowMs = untilMs
    },
    thaw() {
      Object.assign(globalThis, real)
      if (now) Object.defineProperty(performance, 'now', now)
      else Reflect.deleteProperty(performance, 'now')
      for (const [timeout, { run, dueMs }] of waiting) {
        const handle = timeout as NodeJS.Timeout & Internals & { _onTimeout: () => void }
        // The holder of the handle may still clear it, so it stays the same.
        Object.assign(handle, { _idleTimeout: Math.max(1, dueMs - nowMs), _onTimeout: run }).refresh()
      }
      waiting.clear()
    },
  }
}
