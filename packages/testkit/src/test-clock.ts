/** A clock that moves only when told. Pass `clock.now` wherever a `() => Date` is wanted. */
export class TestClock {
  #timeMs: number

  constructor(start: Date | string = '2030-01-01T10:00:00.000Z') {
    this.#timeMs = new Date(start).getTime()
  }

  /** Bound, so it can be handed over as a function. */
  readonly now = (): Date => new Date(this.#timeMs)

  advance(ms: number): void {
    this.#timeMs += ms
  }

  set(time: Date | string): void {
    this.#timeMs = new Date(time).getTime()
  }
}
