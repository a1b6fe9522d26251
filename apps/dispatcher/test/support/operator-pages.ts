import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import { createApp } from '../../src/app.js'
import { deliveriesOf, startDispatcher, type DeliveryRow, type TestDispatcher } from './dispatcher.js'
import type { Subscriber, TestEndpoint } from './subscriber.js'

export const OPERATOR_TOKEN = 'operator-token-of-at-least-32-bytes!'

export type Incident = {
  subscriber: Subscriber
  endpoint: TestEndpoint
  eventId: string
  delivery: DeliveryRow
}

/** Starts a dispatcher with pages for operators, and a receiver that fails on demand. */
export async function startObserved() {
  const receiver: Receiver = await startReceiver()
  const dispatcher: TestDispatcher = await startDispatcher({
    env: { DISPATCHER_ADMIN_TOKEN: OPERATOR_TOKEN, DISPATCHER_RETRY_DELAYS_SECONDS: '0.05' },
    ports: { ca: receiver.authorityCert },
  })
  return {
    receiver,
    dispatcher,
    app: createApp(dispatcher),

    /** Makes an event whose two attempts failed with this answer. */
    async incident(path: string, answer = 'out of order'): Promise<Incident> {
      const subscriber = dispatcher.subscriber()
      receiver.hook(path, { answers: [reply(503, { body: answer }), reply(503, { body: answer })] })
      const endpoint = await subscriber.endpoint(`${receiver.url(path)}?key=of-the-customer`)
      const eventId = await subscriber.summary()
      const delivery = await waitFor(async () => {
        const [row] = await deliveriesOf(dispatcher.db, subscriber.accountId)
        return row?.status === 2 && row
      })
      return { subscriber, endpoint, eventId, delivery }
    },

    async stop(): Promise<void> {
      await dispatcher.stop()
      await receiver.close()
    },
  }
}

export type Observed = Awaited<ReturnType<typeof startObserved>>
