import type { DatabaseClock, Db } from '@signet/db'
import { Periodic } from '@signet/periodic'
import type { WebhookQueues } from '@signet/webhook-core/queue'
import type { Observer } from '../observers/observer.js'
import {
  lockRecovery,
  postponeRecovery,
  stepRecovery,
  stopUnlessActive,
  type RunningRecovery,
  type StepLimits,
} from './recovery-store.js'

export type RecovererDeps = {
  db: Db
  queues: Pick<WebhookQueues, 'addDeliveries'>
  observer: Pick<Observer, 'recoveryFailed'>
  /** Not the clock of this process: if it is fast, its steps have times in the future, and no other process would take the next one. */
  databaseNow: DatabaseClock
  limits?: StepLimits
}

const INTERVAL_MS = 1000
/** Deliveries that a recovery may have in the queue. They are sent within a moment, so they hardly delay live events. */
export const MAX_OUTSTANDING = 50
const LIMITS: StepLimits = { outstanding: MAX_OUTSTANDING, rows: 500 }

/**
 * Advances every running recovery by one step a second at most; any dispatcher may take the next step. A step is one transaction. A
 * process that is killed in the middle has changed nothing, and one that is killed just after it leaves deliveries without jobs, which the
 * sweeper finds.
 */
export class Recoverer {
  readonly #runs: Periodic

  constructor(private readonly deps: RecovererDeps) {
    this.#runs = new Periodic({
      everyMs: INTERVAL_MS,
      run: () => this.run(),
      onError: (error) => deps.observer.recoveryFailed(error),
    })
  }

  start(): void {
    this.#runs.start()
  }

  stop(): Promise<void> {
    return this.#runs.stop()
  }

  /** One step of each running recovery. */
  async run(): Promise<void> {
    const before = await this.deps.databaseNow(this.deps.db)
    while (!this.#runs.stopping.aborted && (await this.step(before)));
  }

  /** One step of the recovery that has waited longest, unless it had one since `before`; false if there is none. */
  async step(before: Date): Promise<boolean> {
    const { db, queues, observer, databaseNow, limits = LIMITS } = this.deps
    const taken: { recovery?: RunningRecovery } = {}
    try {
      const made = await db.transaction(async (tx) => {
        const recovery = await lockRecovery(tx, before)
        if (!recovery) return null
        taken.recovery = recovery
        if (await stopUnlessActive(tx, recovery)) return []
        return stepRecovery(tx, recovery, limits, await databaseNow(tx))
      })
      if (made === null) return false
      // The rows are enough: without Redis the sweeper queues them.
      await queues.addDeliveries(made).catch((error: unknown) => observer.recoveryFailed(error))
    } catch (error) {
      if (!taken.recovery) throw error
      // Nothing of the step is stored. Without this, its recovery would be the next one again, and all others would wait for it.
      await postponeRecovery(db, taken.recovery.id, await databaseNow(db))
      observer.recoveryFailed(error)
    }
    return true
  }
}
