/**
 * The time between the signal to stop and the stop itself. Load balancers notice the signal only after
 * a while: until then, readiness fails and everything else is answered as before (decision 0133).
 */
export class Drain {
  #hasBegun = false

  /** How long load balancers get to stop sending requests, in milliseconds. */
  constructor(readonly durationMs: number) {}

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  begin(): void {
    this.#hasBegun = true
  }
}
