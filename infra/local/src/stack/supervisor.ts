import type { Exit } from '../child.js'
import { reported } from '../terminal.js'

/** Something that runs as part of the stack. Without `stop`, it belongs to someone else and keeps running. */
export interface Part {
  name: string
  /** For processes. Settles when it ends, expectedly or not. */
  exited?: Promise<Exit>
  stop?: () => Promise<unknown>
  /** Its last output, shown if it ends unexpectedly. */
  lastOutput?: () => string
}

/** Starts and stops the parts of the stack. The last one started stops first: services before their dependencies. */
export class Supervisor {
  readonly #parts: Part[] = []
  #stopping: Promise<void> | undefined
  #reportEnd: (end: string) => void = () => {}
  /** Resolves with a sentence when a part ends unexpectedly. */
  readonly unexpectedEnd = new Promise<string>((resolve) => {
    this.#reportEnd = resolve
  })

  /** Starts a part. If it is ready only after `stop` was called, it ends with this process. */
  async start<T extends Part>(begin: () => Promise<T>): Promise<T> {
    const part = await reported(begin)
    this.#parts.unshift(part)
    void part.exited?.then(({ code, signal }) => {
      if (this.#stopping) return
      const how = signal ? `signal ${signal}` : `exit code ${code}`
      this.#reportEnd(
        [`${part.name} ended by itself (${how})`, part.lastOutput?.()].filter(Boolean).join(':\n'),
      )
    })
    return part
  }

  /** Stops everything. Calling it again has no effect. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll()
    return this.#stopping
  }

  async #stopAll(): Promise<void> {
    for (const part of this.#parts) await Promise.resolve(part.stop?.()).catch(() => {})
  }
}
