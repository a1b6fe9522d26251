/**
 * The period between the signal to stop and the stop itself. Load balancers take a while to notice: until then, readiness fails and
 * everything else is answered as before (decision 0133).
 */
export class Drain {
  #hasBegun = false

  /** `durationMs` is how long load balancers get to stop sending requests, in milliseconds. */
  constructor(readonly durationMs: number) {}

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  begin(): void {
    this.#hasBegun = true
  }
}
