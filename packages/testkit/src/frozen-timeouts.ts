export type FrozenTimeouts = {
  /** The time left until each pending timeout runs. */
  pendingMs(): number[]
  /** Lets `ms` pass, and runs the timeouts that become due. */
  advance(ms: number): void
  /** Ends the freeze; each pending timeout runs after the time that it has left. */
  thaw(): void
}

type Waiting = { run: () => void; dueMs: number }

/** How long Node waits before it runs a timeout; its types do not declare this. */
type Internals = { _idleTimeout: number }

const NEVER_MS = 2 ** 31 - 1

/**
 * Lets time limits pass only when the test says so: `setTimeout` and `performance.now` stand still for everything in this process. Work
 * that ends meanwhile did not wait for a time limit, and work that ends at `advance(1000)` waited for one second, however slow the machine
 * is. Timeouts that were set before, `AbortSignal.timeout`, and `node:timers/promises` keep running.
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
        // Reuses the handle, because its holder may still clear it.
        Object.assign(handle, { _idleTimeout: Math.max(1, dueMs - nowMs), _onTimeout: run }).refresh()
      }
      waiting.clear()
    },
  }
}
