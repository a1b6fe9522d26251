import { type EndpointId } from '@signet/webhook-core'

/**
 * A plan this young counts as read just now, counted from before its statement began, so that a dispatch which waited for a
 * lock is not among them. About as long as the statement and a wait for a place take together on a busy day.
 */
const FRESH_MS = 200

/**
 * Tells which plans may be sent by without reading the row once more. One of an endpoint that this process has meanwhile seen
 * disabled or deleted may not, however young it is: nothing more is sent there because it happened to be in hand.
 */
export class PlanFreshness {
  /** When an endpoint was last seen to be out, oldest first; what is older than any fresh plan is dropped. */
  private readonly outSince = new Map<EndpointId, number>()

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** `readAt`: when the statement that read the plan began, by the clock of this process. */
  isFresh(endpointId: EndpointId, readAt: number): boolean {
    return this.now() - readAt <= FRESH_MS && readAt > (this.outSince.get(endpointId) ?? -Infinity)
  }

  endpointIsOut(endpointId: EndpointId): void {
    const now = this.now()
    for (const [id, since] of this.outSince) {
      if (now - since <= FRESH_MS) break
      this.outSince.delete(id)
    }
    // Anew at the end, so that the order stays that of the times.
    this.outSince.delete(endpointId)
    this.outSince.set(endpointId, now)
  }
}
