import { type Queryable } from '@signet/db'
import {
  cancelDelivery,
  decide,
  deliveryHeaders,
  deliveryStatus,
  endpointStatus,
  type AttemptPlan,
  type AttemptResult,
  type CancelWord,
  type DeliveryId,
  type DeliveryJob,
  type EndpointId,
  type RecordedAttempt,
  type RetrySchedule,
  type SendResult,
} from '@signet/webhook-core'
import { type Events } from '../events.js'
import { type EndpointLanes, type Slot } from '../fairness/endpoint-lanes.js'
import { type Exchange, type Post } from '../sending/http-sender.js'
import { type BodyCache } from './body-cache.js'
import { type OpenSecrets } from './open-secrets.js'
import { PlanFreshness } from './plan-freshness.js'
import { type ResultRecorder } from './result-recorder.js'

/** What becomes of the job: over; put off by the schedule; or put back without anything having happened. */
export type JobFate =
  | { kind: 'finished' }
  | { kind: 'retry'; delayMs: number; reason: string }
  | { kind: 'stepBack'; delayMs: number }

export type JobHistory = {
  /**
   * Set when a worker died with this job in its hands, to how many have by now: the attempt that it probably made is reported
   * first.
   */
  losses?: number
  /** It has stepped back before. */
  again: boolean
}

export type AttemptDeps = {
  db: Queryable
  lanes: EndpointLanes
  /** The row of a delivery as it is now; null when it is gone. */
  findPlan: (id: DeliveryId) => Promise<AttemptPlan | null>
  bodies: BodyCache
  recorder: ResultRecorder
  secrets: OpenSecrets
  schedule: RetrySchedule
  send: (post: Post) => Exchange
  patiently: <T>(work: () => Promise<T>) => Promise<T>
  events: Events
  now: () => Date
}

const FINISHED: JobFate = { kind: 'finished' }
/** Clocks of two machines differ; a job that is this early is on time. */
const EARLY_MS = 50
/** When another worker has just reported the same attempt, its row tells after a moment when to go on. */
const LOOK_AGAIN_MS = 1000

/** One attempt of one delivery: take a place, read the row, send, record, and say what becomes of it. */
export class AttemptService {
  private readonly freshness = new PlanFreshness()

  constructor(private readonly deps: AttemptDeps) {}

  /** What a job of the queue asks for. */
  run({ deliveryId, endpointId }: DeliveryJob, { losses = 0, again }: JobHistory): Promise<JobFate> {
    return this.inPlace(endpointId, again, (hold) => this.withPlace(deliveryId, losses, hold))
  }

  /**
   * The first attempt of a delivery that was made just now, with the plan that came with it by a statement which began at
   * `readAt`. `onSent` is called when its place is free again, or when there was none.
   */
  runFirst(plan: AttemptPlan, readAt: number, onSent?: () => void): Promise<JobFate> {
    const work = (hold: Hold) =>
      this.freshness.isFresh(plan.endpoint.id, readAt)
        ? this.attempt(plan, 1, hold)
        : this.withPlace(plan.id, 0, hold)
    return this.inPlace(plan.endpoint.id, false, work, onSent)
  }

  private async inPlace(
    endpointId: EndpointId,
    again: boolean,
    work: (hold: Hold) => Promise<JobFate>,
    onSent?: () => void,
  ): Promise<JobFate> {
    const { lanes, events } = this.deps
    const entry = await lanes.enter(endpointId, again)
    if (!('slot' in entry)) {
      onSent?.()
      events.steppedBack(entry.reason)
      return { kind: 'stepBack', delayMs: entry.stepBackMs }
    }
    events.inFlight(lanes.size)
    const hold = new Hold(entry.slot, onSent)
    try {
      return await work(hold)
    } finally {
      hold.end()
      events.inFlight(lanes.size)
    }
  }

  private async withPlace(deliveryId: DeliveryId, losses: number, hold: Hold): Promise<JobFate> {
    const { findPlan, now, events } = this.deps
    // Read after the place was taken, so that nothing old is sent however long it took.
    const plan = await findPlan(deliveryId)
    if (plan?.status !== deliveryStatus.pending) {
      events.attemptSkipped(deliveryId, 'not_pending')
      return FINISHED
    }
    const cancelled = reasonToCancel(plan)
    if (cancelled) return this.cancel(deliveryId, cancelled)
    const earlyMs = (plan.nextAttemptAt?.getTime() ?? 0) - now().getTime()
    // The row is the truth about the schedule: a job found again after a lost lock must not jump it.
    if (earlyMs > EARLY_MS) return { kind: 'stepBack', delayMs: earlyMs }
    if (losses === 0) return this.attempt(plan, plan.attempts + 1, hold)
    const reported = await this.reportLost(plan, losses)
    if (reported?.status !== deliveryStatus.pending || losses > 1) return this.fateOf(reported)
    return this.attempt(plan, reported.attempts + 1, hold)
  }

  private async attempt(plan: AttemptPlan, number: number, hold: Hold): Promise<JobFate> {
    const { bodies, patiently, now } = this.deps
    const body = await patiently(() => bodies.get(plan.eventId))
    if (!body) return this.cancel(plan.id, 'recording_deleted')
    const startedAt = now()
    const sent = await this.send(plan, body, startedAt, hold)
    return this.conclude(plan, { number, sent, startedAt, finishedAt: now() })
  }

  private async send(plan: AttemptPlan, body: Buffer, at: Date, hold: Hold): Promise<SendResult> {
    const { secrets, send } = this.deps
    const { endpoint } = plan
    try {
      const headers = deliveryHeaders({
        secret: secrets.of(endpoint),
        timestamp: Math.floor(at.getTime() / 1000),
        body,
        deliveryId: plan.id,
        eventType: plan.eventType,
      })
      const exchange = send({ url: new URL(endpoint.url), headers: { ...FIXED_HEADERS, ...headers }, body })
      hold.until(exchange.closed)
      const sent = await exchange.answered
      if (isSuccess(sent)) hold.end()
      return sent
    } catch (error) {
      this.deps.events.attemptImpossible(plan.id, error)
      return { kind: 'failed', error: 'internal_error' }
    }
  }

  private async conclude(
    plan: AttemptPlan,
    facts: { number: number; sent: SendResult; startedAt: Date; finishedAt: Date },
  ): Promise<JobFate> {
    const { number, sent, startedAt, finishedAt } = facts
    const outcome = decide(sent, number, this.deps.schedule)
    const httpStatus = sent.kind === 'answered' ? sent.status : undefined
    const result: AttemptResult = {
      ...this.resultOf(plan, number),
      outcome,
      startedAt,
      finishedAt,
      httpStatus,
    }
    const recorded = await this.deps.recorder.record(result)
    if (recorded && isEndpointOut(result, recorded)) this.freshness.endpointIsOut(plan.endpoint.id)
    this.deps.events.attemptEnded({ plan, result, recorded })
    return this.fateOf(recorded)
  }

  private fateOf(recorded: RecordedAttempt | null): JobFate {
    if (recorded?.status !== deliveryStatus.pending) return FINISHED
    if (!recorded.nextAttemptAt) return { kind: 'stepBack', delayMs: LOOK_AGAIN_MS }
    const delayMs = Math.max(1, recorded.nextAttemptAt.getTime() - this.deps.now().getTime())
    return { kind: 'retry', delayMs, reason: recorded.lastError }
  }

  /**
   * A worker died, probably in mid-attempt. So that attempt is in the log and spends a try (one that kills its worker ends
   * after six), but the next one follows at once: the receiver is not to blame. After a second loss the schedule decides:
   * workers that die one after the other, whatever of, must not spend within minutes all tries of what they have in hand.
   */
  private async reportLost(plan: AttemptPlan, losses: number): Promise<RecordedAttempt | null> {
    const { recorder, schedule, now, events } = this.deps
    const number = plan.attempts + 1
    const at = now()
    const delayMs = schedule.delayAfter(number)
    const result: AttemptResult = {
      ...this.resultOf(plan, number),
      outcome:
        delayMs === null
          ? { kind: 'over', error: 'interrupted' }
          : { kind: 'retry', error: 'interrupted', delayMs: losses > 1 ? delayMs : 0 },
      startedAt: plan.nextAttemptAt ?? at,
      finishedAt: at,
    }
    const recorded = await recorder.record(result)
    events.attemptEnded({ plan, result, recorded })
    return recorded
  }

  private resultOf(plan: AttemptPlan, number: number) {
    return {
      deliveryId: plan.id,
      endpointId: plan.endpoint.id,
      urlVersion: plan.endpoint.urlVersion,
      number,
    }
  }

  private async cancel(id: DeliveryId, reason: CancelWord): Promise<JobFate> {
    const { db, patiently, events } = this.deps
    await patiently(() => cancelDelivery(db, id, reason))
    events.attemptSkipped(id, reason)
    return FINISHED
  }
}

/** In addition to the documented headers (contract F.5). */
const FIXED_HEADERS = { 'user-agent': 'Service-Webhooks/1', accept: '*/*' }

const isSuccess = (sent: SendResult) => sent.kind === 'answered' && sent.status >= 200 && sent.status <= 299

/** A delivery with tries left that has failed all the same has an endpoint that is disabled or gone, or no event any more. */
const isEndpointOut = ({ outcome }: AttemptResult, { status, disabledEndpoint }: RecordedAttempt) =>
  disabledEndpoint || (outcome.kind === 'retry' && status === deliveryStatus.failed)

/**
 * Disabling, deleting and purging cancel pending deliveries themselves; this catches the one that was made in the same
 * moment by a dispatch that still saw the endpoint active.
 */
function reasonToCancel({ endpoint, eventState }: AttemptPlan): CancelWord | null {
  if (endpoint.deleted) return 'endpoint_deleted'
  if (endpoint.status === endpointStatus.disabled) return 'endpoint_disabled'
  return eventState === 'purged' ? 'recording_deleted' : null
}

/**
 * Keeps a place until the connection is free. After a failure also until the result is committed, so that no more attempts
 * than the limit are ever under way towards an endpoint whose 20th failure is just being counted.
 */
class Hold {
  private closed = Promise.resolve()

  private isOver = false

  constructor(
    private readonly slot: Slot,
    private readonly onSent: () => void = () => undefined,
  ) {}

  until(closed: Promise<void>): void {
    this.closed = closed
  }

  end(): void {
    if (this.isOver) return
    this.isOver = true
    void this.closed.then(() => {
      this.slot.leave()
      this.onSent()
    })
  }
}
