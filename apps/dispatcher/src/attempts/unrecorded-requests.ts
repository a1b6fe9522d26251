/**
 * The requests of a run whose results are not recorded. If the run fails while there are any, the next one must count them as attempts.
 */
export class UnrecordedRequests {
  #count = 0

  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** Right before a request is sent. Call what it returns once the result is recorded. */
  readonly add = (): (() => void) => {
    this.#count += 1
    return () => {
      this.#count -= 1
    }
  }
}
