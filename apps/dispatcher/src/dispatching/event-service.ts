import { LARGE_EVENT_BYTES, type EventDeferralReason, type QueuedEventRef } from '@signet/webhook-core/queue'
import { UnrecordedRequests, type Unrecorded } from '../attempts/unrecorded-requests.js'
import type { Deferral, Preparation, PreparedBody } from '../preparing/preparation.js'
import type { AdmissionWindow } from './admission-window.js'
import type { DispatchOutcome, DispatchService } from './dispatch-service.js'
import type { EventPermit, EventLimiter } from './event-limiter.js'
import type { FirstAttempts } from './first-attempts.js'

export type EventServiceDeps = {
  limiter: Pick<EventLimiter, 'acquire'>
  admissionWindow: AdmissionWindow
  dispatch: Pick<DispatchService, 'run'>
  preparation: Pick<Preparation, 'run'>
  firstAttempts: Pick<FirstAttempts, 'run'>
}

/** What happened to the event's job before: why it was deferred, and what earlier runs may have sent without recording it. */
export type EventHistory = {
  deferredFor?: EventDeferralReason | undefined
  unrecorded?: Unrecorded | undefined
}

type Sending = { requests: UnrecordedRequests }

/** Processes one event: prepares it if it has no body, dispatches it, and makes the first attempt at each endpoint. */
export class EventService {
  constructor(private readonly deps: EventServiceDeps) {}

  /**
   * Resolves once each delivery has ended or has its own job; with a deferral if the event has to be tried again later. If it
   * rejects, `requests` says whether it has sent any whose result is not recorded.
   */
  async run(
    event: QueuedEventRef,
    history: EventHistory = {},
    requests = new UnrecordedRequests(),
  ): Promise<Deferral | undefined> {
    const { accountId, bytes } = event
    const wasDeferred = history.deferredFor !== undefined
    const permit = await this.deps.limiter.acquire(accountId, { bytes, wasDeferred })
    if ('deferMs' in permit) return { deferMs: permit.deferMs, reason: 'account_full' }
    let deferral: Deferral | undefined
    try {
      deferral = await this.#runWith(permit, event, { ...history, requests })
      return deferral
    } finally {
      permit.release(deferral === undefined)
    }
  }

  async #runWith(
    permit: EventPermit,
    event: QueuedEventRef,
    { deferredFor, unrecorded, requests }: EventHistory & Sending,
  ): Promise<Deferral | undefined> {
    const { preparation } = this.deps
    const { unprepared } = await this.#admitted({ ...event, unrecorded, requests })
    if (!unprepared) return undefined
    const outcome = await preparation.run(
      { ...unprepared, bytes: event.bytes },
      { deferredFor, reserve: (bytes) => permit.resize(bytes) },
      // An event that had no body until now was never sent.
      (prepared) => this.#admitted({ ...event, bytes: sizeOf(prepared), prepared, requests }),
    )
    return 'deferMs' in outcome ? outcome : undefined
  }

  async #admitted({
    eventId,
    accountId,
    bytes,
    prepared,
    unrecorded = NOTHING,
    requests,
  }: QueuedEventRef &
    Sending &
    Pick<Parameters<DispatchService['run']>[0], 'prepared'> &
    Pick<EventHistory, 'unrecorded'>): Promise<DispatchOutcome> {
    const { admissionWindow, dispatch, firstAttempts } = this.deps
    const wasLost = unrecorded === 'any' || unrecorded.size > 0
    const admission = await admissionWindow.admit(accountId)
    try {
      const dispatched = await dispatch.run({ id: eventId, accountId, bytes, prepared, wasLost })
      if (dispatched.unprepared) return dispatched
      admission.resize(dispatched.created.length)
      await firstAttempts.run(eventId, dispatched, {
        requests,
        onSent: () => admission.sent(),
        unrecorded,
      })
      return dispatched
    } finally {
      admission.release()
    }
  }
}

const NOTHING: Unrecorded = new Set()

/** The notice may not say how large the event is. */
const sizeOf = ({ body }: PreparedBody): number | undefined =>
  body.byteLength < LARGE_EVENT_BYTES ? undefined : body.byteLength
