import { AsyncLocalStorage } from 'node:async_hooks'

/** The request or job that work belongs to. */
export type Scope = {
  /** Members of every line that is logged while the work goes on, such as `request_id`. */
  readonly logFields: Readonly<Record<string, unknown>>
  /** Path pattern of the request's route; empty until one took it. */
  readonly route?: string
}

const storage = new AsyncLocalStorage<Scope>()

/** Runs `work`, and whatever it starts, as part of `scope`. */
export const inScope = <T>(scope: Scope, work: () => T): T => storage.run(scope, work)

/** What the work at hand belongs to; undefined outside of requests and jobs. */
export const currentScope = (): Scope | undefined => storage.getStore()
