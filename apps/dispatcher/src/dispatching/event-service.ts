import type { QueuedEventRef } from '@signet/webhook-core/queue'
import type { Deferral, Preparation } from '../preparing/preparation.js'
import type { AdmissionWindow } from './admission-window.js'
import type { DispatchOutcome, DispatchService } from './dispatch-service.js'
import type { FirstAttempts } from './first-attempts.js'

export type EventServiceDeps = {
  admissionWindow: AdmissionWindow
  dispatch: Pick<DispatchService, 'run'>
  preparation: Pick<Preparation, 'run'>
  firstAttempts: Pick<FirstAttempts, 'run'>
}

/** The way of one event: prepared if it came without a body, dispatched, and attempted for the first time at each endpoint. */
export class EventService {
  constructor(private readonly deps: EventServiceDeps) {}

  /** Resolves when each of its deliveries has ended or has a job of its own, or with the time after which to try again. */
  async run(event: QueuedEventRef, wasDeferred = false): Promise<Deferral | undefined> {
    const { preparation } = this.deps
    const { unprepared } = await this.#admitted(event)
    if (!unprepared) return undefined
    const outcome = await preparation.run(unprepared, wasDeferred, (prepared) =>
      this.#admitted({ ...event, prepared }),
    )
    return 'deferMs' in outcome ? outcome : undefined
  }

  async #admitted({
    eventId,
    accountId,
    prepared,
  }: QueuedEventRef & Pick<Parameters<DispatchService['run']>[0], 'prepared'>): Promise<DispatchOutcome> {
    const { admissionWindow, dispatch, firstAttempts } = this.deps
    const admission = await admissionWindow.admit(accountId)
    try {
      const dispatched = await dispatch.run({ id: eventId, accountId, prepared })
      if (dispatched.unprepared) return dispatched
      admission.resize(dispatched.created.length)
      await firstAttempts.run(eventId, dispatched, () => admission.sent())
      return dispatched
    } finally {
      admission.release()
    }
  }
}
