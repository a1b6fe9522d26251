import { AsyncLocalStorage } from 'node:async_hooks'
import type { Span, Tracing } from '@signet/telemetry'

type SpanOptions = Parameters<Tracing['span']>[1]

const IGNORED: Span = {
  rename: () => undefined,
  set: () => undefined,
  fail: () => undefined,
  end: () => undefined,
}

/** Records what a server does before it answers each request: statements, transactions, hashes and outgoing calls. */
export class RecordedWork implements Tracing {
  readonly #request = new AsyncLocalStorage<string[]>()
  #latest: string[] = []

  /** The steps of the latest request, sorted by name because rehearsed ones run at different times. */
  latest(): string[] {
    return [...this.#latest].sort()
  }

  start(name: string, { kind }: SpanOptions = {}): Span {
    if (kind === 'server') this.#latest = []
    else this.#request.getStore()?.push(name)
    return IGNORED
  }

  within<T>(_span: Span, work: () => T): T {
    const request = this.#request.getStore()
    return request ? work() : this.#request.run(this.#latest, work)
  }

  /** Work outside requests, such as that of the outbox, is not recorded. */
  span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T> {
    return work(this.start(name, options))
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}
