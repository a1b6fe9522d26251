import { check, expectJson, send, tell } from './http.js'
import { awaitDeliveries } from './receiver-client.js'
import type { Connection, Subscription, World } from './world.js'

/** d. A test event arrives, signed. Returns the number of the receiver's last delivery. */
export async function ping(
  world: World,
  connection: Connection,
  subscription: Subscription,
): Promise<number> {
  const answer = await send('POST', `${world.webhooksUrl}/v1/webhooks/${subscription.endpointId}/test`, {
    at: 'webhooks',
    bearer: connection.accessToken,
  })
  const { event_id: eventId, queued } = expectJson<{ event_id: string; queued: boolean }>(answer, 200)
  check(queued, 'the test event is queued')
  const [delivery] = await awaitDeliveries(world, subscription, { type: 'webhook.ping', after: 0 })
  check(delivery?.eventId === eventId, 'the event that arrived is the one published')
  tell(
    `webhook.ping ${eventId} arrived over TLS; its signature matches the ${delivery.bytes} bytes received.`,
  )
  return delivery.number
}
