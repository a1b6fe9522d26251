import { setTimeout as sleep } from 'node:timers/promises'
import pTimeout from 'p-timeout'
import type { Queryable } from '@signet/db'
import {
  endpointSecretContext,
  type DeliveryId,
  type EndpointId,
  type EventId,
  type SecretBox,
} from '@signet/webhook-core'
import { deliveryJobId, type WebhookQueues } from '@signet/webhook-core/queue'
import { countAccountRows } from '@signet/webhook-core/stores'
import {
  countDisabledEndpoints,
  readBacklog,
  readUndispatched,
  type Backlog,
  type Undispatched,
} from '../backlog/backlog-store.js'
import { listAttempts, type Attempt } from '../deliveries/attempt-store.js'
import { findAccountState, type AccountState } from './account-store.js'
import {
  enableEndpoint,
  findBusiestEndpoints,
  findDeliveryReport,
  findSecretsOfOtherKeys,
  listDisabledEndpoints,
  listOperatorActions,
  readSwitch,
  recordAction,
  recordDecision,
  replaceSealedSecret,
  type BusyEndpoint,
  type DeliveryReport,
  type DisabledEndpoint,
  type OperatorAction,
  type Switch,
} from './operator-store.js'
import { findReplayable, replayDeliveries, type Replayable, type ReplayTarget } from './replay-store.js'
import type { JobPresence } from '../queues/job-presence.js'
import { PauseSwitch } from './pause-switch.js'
import { isInFirstAttempt } from './reading.js'

/** Who runs a command and why. Required for every command that changes something. */
export type Author = { operator: string; reason: string }

export type OperationsDeps = {
  db: Queryable
  queues: WebhookQueues
  presence: Pick<JobPresence, 'jobOf'>
  /** Resolves when Redis is connected, or after a time limit. */
  redisReady: Promise<void>
  secretBox: SecretBox
  now: () => Date
}

/** In jobs. One of the `events` queue may hold many events. */
export type QueueState = { waiting: number; active: number; delayed: number; workers: number }

export type Status = {
  switch: Switch
  backlog: Backlog
  undispatched: Undispatched
  busiest: BusyEndpoint[]
  disabledEndpoints: number
  /** Null when Redis does not respond. */
  queues: Record<'events' | 'deliveries', QueueState> | null
  actions: OperatorAction[]
}

/** `unqueued`: committed while Redis was down. The sweeper queues them. */
export type Requeued = { deliveries: DeliveryId[]; unqueued: boolean }
/** `rows` lists every table, including empty ones. `state` is null if no event about the account has arrived. */
export type AccountReport = {
  accountId: string
  state: AccountState | null
  rows: Readonly<Record<string, number>>
}
export type Inspected = { delivery: DeliveryReport; attempts: Attempt[]; job: string }

/** One statement and one row of `operator_actions` per batch. */
const BATCH = 1000
const POLL_MS = 200
/** During an outage, report what the database knows without a long wait for Redis. */
const QUEUE_STATES_TIMEOUT_MS = 1000

/** What operators can do. Each change is committed before the queue is updated. */
export class Operations {
  readonly #pauseSwitch: PauseSwitch

  constructor(private readonly deps: OperationsDeps) {
    this.#pauseSwitch = new PauseSwitch(deps.db, deps.queues)
  }

  async status(): Promise<Status> {
    const { db, now } = this.deps
    const [decided, backlog, undispatched, busiest, disabledEndpoints, actions, queues] = await Promise.all([
      readSwitch(db),
      readBacklog(db, now()),
      readUndispatched(db),
      findBusiestEndpoints(db, 5),
      countDisabledEndpoints(db),
      listOperatorActions(db, 5),
      pTimeout(
        this.#queueStates().catch(() => null),
        { milliseconds: QUEUE_STATES_TIMEOUT_MS, fallback: () => null },
      ),
    ])
    return { switch: decided, backlog, undispatched, busiest, disabledEndpoints, queues, actions }
  }

  /** False if Redis could not be updated; every dispatcher does it once Redis is back. */
  pause(author: Author): Promise<boolean> {
    return this.#decide('pause', author)
  }

  /** As `pause`. */
  resume(author: Author): Promise<boolean> {
    return this.#decide('resume', author)
  }

  async #decide(action: 'pause' | 'resume', author: Author): Promise<boolean> {
    await recordDecision(this.deps.db, action, author)
    return this.#pauseSwitch.apply().then(
      () => true,
      () => false,
    )
  }

  /**
   * Waits until nothing is in flight, up to `timeoutMs`, also while Redis restarts. Returns the number of jobs still in flight, null if
   * Redis does not respond.
   */
  async drained(timeoutMs: number): Promise<number | null> {
    const deadline = performance.now() + timeoutMs
    for (;;) {
      const active = await this.#active().catch(() => null)
      if (active === 0 || performance.now() >= deadline) return active
      await sleep(POLL_MS)
    }
  }

  preview(target: ReplayTarget, limit: number): Promise<Replayable[]> {
    return findReplayable(this.deps.db, target, limit)
  }

  async requeue(target: ReplayTarget, { operator, reason }: Author): Promise<Requeued> {
    const { db, queues, now } = this.deps
    const deliveries: DeliveryId[] = []
    let unqueued = false
    for (;;) {
      const made = await replayDeliveries(db, { ...target, operator, reason, now: now(), limit: BATCH })
      deliveries.push(...made.map(({ id }) => id))
      await queues.addDeliveries(made).catch(() => (unqueued = true))
      if (made.length < BATCH) return { deliveries, unqueued }
    }
  }

  async inspect(id: DeliveryId): Promise<Inspected | null> {
    const { db } = this.deps
    const delivery = await findDeliveryReport(db, id)
    if (!delivery) return null
    return { delivery, attempts: await listAttempts(db, [id]), job: await this.#jobState(delivery) }
  }

  async account(accountId: string): Promise<AccountReport> {
    const { db } = this.deps
    const state = await findAccountState(db, accountId)
    return { accountId, state, rows: await countAccountRows(db, accountId) }
  }

  disabled(since: Date, limit: number): Promise<DisabledEndpoint[]> {
    return listDisabledEndpoints(this.deps.db, since, limit)
  }

  enable(id: EndpointId, author: Author): Promise<boolean> {
    return enableEndpoint(this.deps.db, id, author)
  }

  /** Re-encrypts secrets and returns how many. Each is decrypted first, so a missing key changes nothing. */
  async reseal({ operator, reason }: Author): Promise<number> {
    const { db, secretBox } = this.deps
    const keyId = secretBox.sealingKeyId
    let resealed = 0
    let after = '0'
    for (;;) {
      const found = await findSecretsOfOtherKeys(db, { keyId, after, limit: BATCH })
      for (const { endpointId, accountId, sealed } of found) {
        const context = endpointSecretContext({ id: endpointId, accountId })
        for (const one of sealed) {
          const next = secretBox.seal(secretBox.open(one, context), context)
          if (await replaceSealedSecret(db, endpointId, one, next)) resealed += 1
        }
      }
      after = found.at(-1)?.endpointId ?? after
      if (found.length < BATCH) break
    }
    await recordAction(db, 'reseal', operator, { reason, key: keyId, resealed })
    return resealed
  }

  /** State of the job that dispatches an event and makes its first attempts. */
  eventJob(id: EventId): Promise<string> {
    return this.#inWords(() => this.#eventJobState(id))
  }

  /** State of the job that runs the delivery: its own, or its event's during the first attempt. */
  #jobState(delivery: DeliveryReport): Promise<string> {
    return this.#inWords(() =>
      isInFirstAttempt(delivery)
        ? this.#eventJobState(delivery.event.id)
        : this.deps.queues.deliveries.getJobState(deliveryJobId(delivery.id)),
    )
  }

  async #inWords(read: () => Promise<string>): Promise<string> {
    if (!this.deps.queues.isConnected) return 'unknown, Redis does not respond'
    try {
      const state = await read()
      return state === 'unknown' ? 'none' : state
    } catch {
      return 'unknown, Redis does not respond'
    }
  }

  async #eventJobState(id: EventId): Promise<string> {
    const { queues, presence } = this.deps
    const jobId = await presence.jobOf(id)
    return jobId === null ? 'unknown' : queues.events.getJobState(jobId)
  }

  async #active(): Promise<number> {
    const { events, deliveries } = this.deps.queues
    const counts = await Promise.all([events.getActiveCount(), deliveries.getActiveCount()])
    return counts.reduce((sum, count) => sum + count, 0)
  }

  async #queueStates(): Promise<Status['queues']> {
    const { queues, redisReady } = this.deps
    await redisReady
    const { events, deliveries, isConnected } = queues
    if (!isConnected) return null
    const [ofEvents, ofDeliveries] = await Promise.all([queueState(events), queueState(deliveries)])
    return { events: ofEvents, deliveries: ofDeliveries }
  }
}

async function queueState(queue: WebhookQueues['events'] | WebhookQueues['deliveries']): Promise<QueueState> {
  const [counts, workers] = await Promise.all([
    queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed'),
    queue.getWorkersCount(),
  ])
  const { waiting = 0, prioritized = 0, active = 0, delayed = 0 } = counts
  return { waiting: waiting + prioritized, active, delayed, workers }
}
