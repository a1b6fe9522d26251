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
    private readonly queues: WebhookQueues,
  ) {}

  async apply(): Promise<Switch> {
    const decided = await readSwitch(this.db)
    await this.queues.setPaused(decided.paused)
    return decided
  }
}
