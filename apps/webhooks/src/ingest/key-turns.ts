/** Runs work that shares a key one after another, in the order in which it was added. Runs all other work at once. */
export class KeyTurns {
  /** The latest work of each key. Settles when that work ends, and never rejects. */
  readonly #last = new Map<string, Promise<void>>()

  run<Result>(keys: readonly string[], work: () => Promise<Result>): Promise<Result> {
    const earlier = keys.flatMap((key) => this.#last.get(key) ?? [])
    const result = earlier.length === 0 ? work() : Promise.all(earlier).then(work)
    const over = () => {
      for (const key of keys) if (this.#last.get(key) === ended) this.#last.delete(key)
    }
    const ended = result.then(over, over)
    for (const key of keys) this.#last.set(key, ended)
    return result
  }
}
