import { afterAll, beforeAll, expect, it } from '@jest/globals'
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
  dispatcher = await startDispatcher({ ports: { ca: receiver.authorityCert } })
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
    const [purged, later] = [dispatcher.subscriber(), dispatcher.subscriber()]
    const path = `/purged/${answered}`
    const answer = gate()
    for (const [subscriber, to] of [
      [purged, path],
      [later, `/later/${answered}`],
    ] as const) {
      receiver.hook(to, { otherwise: reply(answered, { after: answer.opened }) })
      await subscriber.endpoint(receiver.url(to))
    }
    const audioId = 'rec_purged'
    const eventId = await purged.summary({ audioId })
    await receiver.waitForDelivery({ path })
    const { accountId } = purged
    expect(await purgeRecording(db, { accountId, audioId })).toEqual({
      purgedEvents: 1,
      cancelledDeliveries: 0,
    })
    // Rows of slow deliveries are written in the order in which their attempts began, so it was the turn of the first one, too.
    await later.summary()
    await waitFor(async () => (await deliveriesOf(db, later.accountId)).length === 1)
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

const isEnd = ({ msg, event_id }: Record<string, unknown>, eventId: string): boolean =>
  msg === 'attempt' && event_id === eventId
