import type { Db } from '@signet/db'
import type { AppError } from '@signet/errors'
import type { RequestMeta } from '@signet/telemetry'
import { endpointStatus, type DeliveryId } from '@signet/webhook-core'
import type { WebhookQueues } from '@signet/webhook-core/queue'
import { findEndpoint } from '@signet/webhook-core/stores'
import { notFound } from '../errors/api-errors.js'
import { RuleError, type Rule } from '../errors/rule-error.js'
import type { WebhookObserver } from '../observers/webhook-observer.js'
import { findDelivery } from './attempt-log-store.js'
import type { Delivery, LogOwner } from './delivery-row.js'
import { findObstacle, replayDelivery } from './replay-store.js'

type Deps = { db: Db; queues: Pick<WebhookQueues, 'addDeliveries'>; webhookObserver: WebhookObserver }

/** Sends one event again (docs/specification.md#replay). */
export class ReplayService {
  constructor(private readonly deps: Deps) {}

  async replay(owner: LogOwner, id: DeliveryId, meta: RequestMeta): Promise<Delivery> {
    const { db, queues, webhookObserver } = this.deps
    const made = await replayDelivery(db, owner, id)
    if (made === null) throw await this.#refusal(owner, id)
    webhookObserver.deliveryReplayed({ ...owner, deliveryId: made }, meta)
    // The row is enough: without Redis, the sweeper queues it.
    await queues
      .addDeliveries([{ id: made, endpointId: owner.endpointId, accountId: owner.accountId }])
      .catch((error: unknown) => webhookObserver.publishMissed(1, error))
    const found = await findDelivery(db, owner, made)
    if (!found) throw notFound()
    return found.delivery
  }

  async #refusal(owner: LogOwner, id: DeliveryId): Promise<AppError> {
    const { db } = this.deps
    const [endpoint, found] = [
      await findEndpoint(db, owner.accountId, owner.endpointId),
      await findDelivery(db, owner, id),
    ]
    if (!endpoint || !found) return notFound()
    if (endpoint.status === endpointStatus.disabled) return conflict('endpoint.disabled')
    const { gone, delivery } = await findObstacle(db, owner, id)
    if (gone) return conflict('delivery.gone')
    // The obstacle was a pending delivery, even if it has ended since.
    if (!delivery || delivery.id === id) return conflict('delivery.pending')
    return conflict(delivery.pending ? 'delivery.elsewhere' : 'delivery.replayed', { id: delivery.id })
  }
}

const conflict = (rule: Rule, values = {}) => new RuleError(rule, { kind: 'conflict', values })
