import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { ExpressAdapter } from '@bull-board/express'
import { type WebhookQueues } from '@signet/webhook-core'
import { type RequestHandler } from 'express'

export const DASHBOARD_PATH = '/queues'

/**
 * Bull Board over both queues, for looking only (decision 0065). Changes go through the operator command, which writes down
 * who made them. Jobs hold ids only, so there is nothing to hide in them.
 */
export function queueDashboard({ events, deliveries }: WebhookQueues): RequestHandler {
  const serverAdapter = new ExpressAdapter().setBasePath(DASHBOARD_PATH)
  createBullBoard({
    queues: [
      new BullMQAdapter(events, {
        readOnlyMode: true,
        description: 'Events whose deliveries are still to be made',
      }),
      new BullMQAdapter(deliveries, {
        readOnlyMode: true,
        description: 'Deliveries with an attempt before them',
      }),
    ],
    serverAdapter,
    options: { uiConfig: { boardTitle: 'Dispatcher' } },
  })
  return serverAdapter.getRouter() as RequestHandler
}
