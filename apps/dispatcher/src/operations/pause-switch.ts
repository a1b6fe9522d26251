import { type Queryable } from '@signet/db'
import { readSwitch, type Switch, type WebhookQueues } from '@signet/webhook-core'

/**
 * Makes the queues follow the operators' switch. What was decided is a row in PostgreSQL; BullMQ's own pause flag lies in Redis
 * and goes with it, so every dispatcher sets it again at its start, before each sweep, and when Redis comes back.
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
