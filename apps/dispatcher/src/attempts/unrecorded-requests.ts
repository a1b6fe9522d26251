import type { EndpointId } from '@signet/webhook-core'

/**
 * The endpoints of an event to which an earlier run may have sent it without recording the result; `any` if the run could not say
 * which. The next run counts those as attempts.
 */
export type Unrecorded = 'any' | ReadonlySet<EndpointId>

export const mayHaveSent = (unrecorded: Unrecorded, endpointId: EndpointId): boolean =>
  unrecorded === 'any' || unrecorded.has(endpointId)

/** The requests of a run whose results are not recorded. If the run fails while there are any, the next one must count them. */
export class UnrecordedRequests {
  readonly #endpoints = new Set<EndpointId>()

  get endpointIds(): EndpointId[] {
    return [...this.#endpoints]
  }

  /** Call it right before a request is sent, and call what it returns once the result is recorded. A run sends to an endpoint only once. */
  readonly add = (endpointId: EndpointId): (() => void) => {
    this.#endpoints.add(endpointId)
    return () => this.#endpoints.delete(endpointId)
  }
}
