import { waitUntil } from '../wait-until.js'
import { check, expectJson, send, tell } from './http.js'
import { reply } from '../receiver/index.js'
import { awaitDeliveries, setHook } from './receiver-client.js'
import { publishRecording, readRecording } from './recording.js'
import type { Connection, Person, Subscription, World } from './world.js'

interface Delivery {
  event_id: string
  status: number
  attempts: number
  last_error: string
}

/** f. The receiver fails once; the retry succeeds; the delivery log tells the story. */
export async function retry(
  world: World,
  person: Person,
  connection: Connection,
  subscription: Subscription,
  after: number,
): Promise<void> {
  await setHook(world, subscription.path, { secret: subscription.secret, answers: [reply(500)] })
  tell('The receiver will answer 500 to the next request.')
  const eventId = await publishRecording(world, person, readRecording(world, 'product-review'), 'retry')
  const attempts = await awaitDeliveries(world, subscription, { type: 'summary.completed', after, count: 2 })
  const [first, second] = attempts
  check(first?.eventId === eventId && second?.eventId === eventId, 'both attempts carry the same event')
  check(sameDelivery(first.headers, second.headers), 'both attempts carry the same delivery id, signed again')
  const waitedMs = Date.parse(second.receivedAt) - Date.parse(first.receivedAt)
  tell(
    `It came again ${(waitedMs / 1000).toFixed(1)} s later, with the same ids and a new signature, and was accepted.`,
  )

  const url = `${world.webhooksUrl}/v1/webhooks/${subscription.endpointId}/deliveries`
  const delivery = await waitUntil(
    async () => {
      const answer = await send('GET', url, { at: 'webhooks', bearer: connection.accessToken, quiet: true })
      const { items } = expectJson<{ items: Delivery[] }>(answer, 200)
      return items.find((item) => item.event_id === eventId && item.status !== 0)
    },
    { describe: 'final state in the delivery log' },
  )
  check(delivery.attempts === 2, `the log shows 2 attempts, not ${delivery.attempts}`)
  check(delivery.status === 1, `the log shows status 1, not ${delivery.status}`)
  tell(
    `GET …/deliveries shows attempts: ${delivery.attempts}, status: ${delivery.status}, last_error: ${delivery.last_error}`,
  )
}

type Headers = Record<string, string | string[] | undefined>

function sameDelivery(first: Headers, second: Headers): boolean {
  return (
    first['x-service-delivery'] === second['x-service-delivery'] &&
    first['x-service-signature'] !== second['x-service-signature']
  )
}
