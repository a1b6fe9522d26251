import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { startReceiver, type Receiver } from '@signet/testkit/receiver'
import { newEventId, type EndpointId, type EventDefinition, type EventId } from '@signet/webhook-core'
import { purgeRecording } from '@signet/webhook-core/stores'
import { startDispatcher, type TestDispatcher } from './support/dispatcher.js'
import type { Subscriber } from './support/subscriber.js'

const documentation = {
  sentWhen: { en: 'an example happens', de: 'ein Beispiel geschieht' },
  properties: {},
  required: [],
  sample: {},
}

/** One event type of each kind. A type needs only its definition: nothing else in this repository knows these. */
const added: Record<string, EventDefinition> = {
  'recording.titled': {
    ...documentation,
    subject: 'recording',
    endsWithRecording: true,
    build: ({ id }, { audioId, recording }) =>
      JSON.stringify({ id, titled: audioId, title: recording?.title }),
  },
  'recording.deleted': {
    ...documentation,
    subject: 'recording',
    endsWithRecording: false,
    build: ({ id }, given) => JSON.stringify({ id, given }),
  },
  'endpoint.checked': {
    ...documentation,
    subject: 'endpoint',
    build: ({ id }, { endpointId }) => JSON.stringify({ id, checked: endpointId }),
  },
}

let receiver: Receiver
let dispatcher: TestDispatcher
beforeAll(async () => {
  receiver = await startReceiver()
  dispatcher = await startDispatcher({ ports: { ca: receiver.authorityCert, catalogue: added } })
})
afterAll(async () => {
  await dispatcher.stop()
  await receiver.close()
})

type About = { audioId?: string; endpointId?: EndpointId }

/** Commits and publishes an event, as the code that observes it would. */
async function publish(
  { accountId }: Subscriber,
  type: string,
  { audioId, endpointId }: About,
  meanwhile?: () => Promise<unknown>,
): Promise<EventId> {
  const id = newEventId(new Date())
  await dispatcher.db.query(
    `insert into webhook_events (id, account_id, type, audio_id, target_endpoint_id, source)
     values ($1, $2, $3, $4, $5, 'test')`,
    [id, accountId, type, audioId, endpointId],
  )
  await meanwhile?.()
  await dispatcher.queues.addEvents([{ id, accountId }])
  return id
}

it('delivers an added type with the body of its definition and what it needs of its recording', async () => {
  const subscriber = dispatcher.subscriber()
  await subscriber.endpoint(receiver.url('/titled'), ['recording.titled'])
  await subscriber.withoutQueues().summary({ audioId: 'rec_1', recording: { title: 'Weekly sync' } })
  const id = await publish(subscriber, 'recording.titled', { audioId: 'rec_1' })
  const { event, headers } = await receiver.waitForDelivery({ path: '/titled' })
  expect(event).toEqual({ id, titled: 'rec_1', title: 'Weekly sync' })
  expect(headers['x-service-event']).toBe('recording.titled')
})

it('gives nothing but the id to a type that outlives its recording', async () => {
  const subscriber = dispatcher.subscriber()
  await subscriber.endpoint(receiver.url('/deleted'), ['recording.deleted'])
  await subscriber.withoutQueues().summary({ audioId: 'rec_1', recording: { title: 'secret' } })
  const id = await publish(subscriber, 'recording.deleted', { audioId: 'rec_1' })
  const { event } = await receiver.waitForDelivery({ path: '/deleted' })
  expect(event).toEqual({ id, given: { audioId: 'rec_1' } })
})

it('purges an added type with its recording, unless it outlives it', async () => {
  const subscriber = dispatcher.subscriber()
  await subscriber.endpoint(receiver.url('/purged'), ['recording.titled', 'recording.deleted'])
  const recording = { accountId: subscriber.accountId, audioId: 'rec_1' }
  await subscriber.withoutQueues().summary({ audioId: 'rec_1' })
  const purge = () => purgeRecording(dispatcher.db, recording, added)
  await publish(subscriber, 'recording.titled', recording, purge)
  const id = await publish(subscriber, 'recording.deleted', recording, purge)
  const { event } = await receiver.waitForDelivery({ path: '/purged' })
  expect(event).toEqual({ id, given: { audioId: 'rec_1' } })
  const { rows } = await dispatcher.db.query(
    "select type from webhook_events where account_id = $1 and state = 'purged' order by type",
    [subscriber.accountId],
  )
  expect(rows).toEqual([{ type: 'recording.titled' }, { type: 'summary.completed' }])
})

it('delivers an added type about an endpoint with the body of its definition, to this endpoint alone', async () => {
  const subscriber = dispatcher.subscriber()
  const endpoint = await subscriber.endpoint(receiver.url('/checked'), [])
  await subscriber.endpoint(receiver.url('/other'), ['endpoint.checked'])
  const id = await publish(subscriber, 'endpoint.checked', { endpointId: endpoint.id })
  const { event } = await receiver.waitForDelivery({ path: '/checked' })
  expect(event).toEqual({ id, checked: endpoint.id })
  expect(receiver.deliveries({ path: '/other' })).toEqual([])
})
