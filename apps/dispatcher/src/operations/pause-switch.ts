import type { Queryable } from '@signet/db'
import type { WebhookQueues } from '@signet/webhook-core/queue'
import { readSwitch, type Switch } from './operator-store.js'

/**
 * Applies the operators' pause to the queues. The decision is a row in PostgreSQL. BullMQ keeps its pause flag in Redis and can
 * lose it, so every dispatcher sets it again at start, before each sweep, and when Redis comes back
 * (decision 0066).
 */
export class PauseSwitch {
  constructor(
    private readonly db: Queryable,
    private readonly queues: Pick<WebhookQueues, 'pause' | 'resume'>,
  ) {}

  async apply(): Promise<Switch> {
    for (let decided = await readSwitch(this.db); ;) {
      await (decided.paused ? this.queues.pause() : this.queues.resume())
      // An operator may have decided otherwise since, and another process may have applied that before this one applied what it had read.
      const latest = await readSwitch(this.db)
      if (latest.paused === decided.paused) return latest
      decided = latest
    }
  }
}
