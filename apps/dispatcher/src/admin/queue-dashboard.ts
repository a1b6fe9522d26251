import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { ExpressAdapter } from '@bull-board/express'
import type { WebhookQueues } from '@signet/webhook-core/queue'
import type { RequestHandler } from 'express'

export const DASHBOARD_PATH = '/queues'

/**
 * Read-only Bull Board over both queues (decision 0065). Changes go through the `ops` command, which records who made them.
 * Jobs contain only ids, so there is nothing to redact.
 */
export function queueDashboard({ events, deliveries }: WebhookQueues): RequestHandler {
  const serverAdapter = new ExpressAdapter().setBasePath(DASHBOARD_PATH)
  createBullBoard({
    queues: [
      new BullMQAdapter(events, {
        readOnlyMode: true,
        description: 'Events waiting for their deliveries',
      }),
      new BullMQAdapter(deliveries, {
        readOnlyMode: true,
        description: 'Deliveries waiting for an attempt',
      }),
    ],
    serverAdapter,
    options: { uiConfig: { boardTitle: 'Dispatcher' } },
  })
  return serverAdapter.getRouter() as RequestHandler
}
