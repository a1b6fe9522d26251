/**
 * The time between the signal to stop and the stop itself. Whoever sends requests here learns of the signal only after
 * a while: until then readiness says no, and everything else is answered as before.
 */
export class Drain {
  #hasBegun = false

  /** How long load balancers get to look elsewhere, in milliseconds. */
  constructor(readonly durationMs: number) {}

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  begin(): void {
    this.#hasBegun = true
  }
}
