import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import { purgeRecording } from '@signet/webhook-core/stores'
import { listAttempts } from '../src/deliveries/attempt-store.js'
import { deliveriesOf, startDispatcher, type TestDispatcher } from './support/dispatcher.js'
import { gate } from './support/gate.js'

let receiver: Receiver
let dispatcher: TestDispatcher
beforeAll(async () => {
  receiver = await startReceiver()
  // The row, which this test locks, is not read again before an attempt, however slow the machine is.
  dispatcher = await startDispatcher({ ports: { ca: receiver.authorityCert, freshMs: Infinity } })
})
afterAll(async () => {
  await dispatcher.stop()
  await receiver.close()
})

it.each([
  { answered: 200, status: 1 },
  { answered: 500, status: 2 },
])(
  'a slow $answered shows in the delivery log although the recording was deleted before the delivery had a row',
  async ({ answered, status }) => {
    const { db } = dispatcher
    const subscriber = dispatcher.subscriber()
    const { accountId } = subscriber
    const path = `/purged/${answered}`
    const answer = gate()
    receiver.hook(path, { otherwise: reply(answered, { after: answer.opened }) })
    await subscriber.endpoint(receiver.url(path))
    const audioId = 'rec_purged'
    const eventId = await subscriber.withoutQueues().summary({ audioId })
    const query = jest.spyOn(db, 'query')
    await db.transaction(async (tx) => {
      // Keeps the row, which a slow delivery gets after half a second, from being written before the purge, however slow this test is.
      await tx.query('select from webhook_events where id = $1 for update', [eventId])
      await dispatcher.queues.addEvents([{ id: eventId, accountId }])
      await receiver.waitForDelivery({ path })
      await waitFor(() =>
        query.mock.calls.some(([statement, values]) => isWrite(statement) && has(values, eventId)),
      )
      expect(await purgeRecording(tx, { accountId, audioId })).toEqual({
        purgedEvents: 1,
        cancelledDeliveries: 0,
      })
    })
    query.mockRestore()
    answer.open()
    await waitFor(() => dispatcher.logLines.some((line) => isEnd(line, eventId)))
    const rows = await deliveriesOf(db, accountId)
    expect(rows).toMatchObject([
      { event_id: eventId, status, attempts: 1, last_error: 'recording_deleted', next_attempt_at: null },
    ])
    expect(await listAttempts(db, [rows[0]?.id as never])).toMatchObject([
      { number: 1, httpStatus: answered, answer: '' },
    ])
  },
)

const isWrite = (statement: string | { name: string }): boolean =>
  typeof statement !== 'string' && statement.name.startsWith('write-deliveries')

const has = (values: readonly unknown[] | undefined, eventId: string): boolean =>
  values?.flat().includes(eventId) === true

const isEnd = ({ msg, event_id }: Record<string, unknown>, eventId: string): boolean =>
  msg === 'attempt' && event_id === eventId
