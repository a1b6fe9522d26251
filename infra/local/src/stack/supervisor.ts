import type { Exit } from '../child.js'

/** Something that runs as part of the stack. Without `stop` it is not ours to stop. */
export interface Part {
  name: string
  /** For processes: settles when it ends, wanted or not. */
  exited?: Promise<Exit>
  stop?: () => Promise<unknown>
  /** Its last output, shown if it ends unexpectedly. */
  lastOutput?: () => string
}

/**
 * Holds what runs. Parts stop in the reverse order of their start, those started together at the same time: services
 * before what they depend on.
 */
export class Supervisor {
  readonly #generations: Part[][] = []
  #stopping: Promise<void> | undefined
  #reportEnd: (end: string) => void = () => {}
  /** Settles with a sentence when a part ends unexpectedly. */
  readonly unexpectedEnd = new Promise<string>((resolve) => {
    this.#reportEnd = resolve
  })

  /** Starts parts together. When one fails the others are still known, so `stop` reaches them. */
  async start<T extends readonly Part[]>(...starts: { [K in keyof T]: () => Promise<T[K]> }): Promise<T> {
    if (this.#stopping) throw new Error('the stack is stopping')
    const generation: Part[] = []
    this.#generations.push(generation)
    const parts = starts.map(async (begin) => {
      const part = await begin()
      generation.push(part)
      this.#watch(part)
      return part
    })
    await Promise.allSettled(parts)
    return (await Promise.all(parts)) as unknown as T
  }

  /** Stops everything, once, however often it is asked. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll()
    return this.#stopping
  }

  async #stopAll(): Promise<void> {
    for (const generation of this.#generations.reverse()) {
      await Promise.allSettled(generation.map(async (part) => part.stop?.()))
    }
  }

  #watch(part: Part): void {
    void part.exited?.then((exit) => {
      if (this.#stopping) return
      const output = part.lastOutput?.()
      this.#reportEnd(`${part.name} ended by itself (${describe(exit)})${output ? `:\n${output}` : ''}`)
    })
  }
}

const describe = ({ code, signal }: Exit): string => (signal ? `signal ${signal}` : `exit code ${code}`)
