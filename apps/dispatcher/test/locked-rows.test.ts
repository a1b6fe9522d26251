import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import { deliveriesOf, startDispatcher, type TestDispatcher } from './support/dispatcher.js'

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

const untilDelivered = (accountId: string) =>
  waitFor(async () => (await deliveriesOf(dispatcher.db, accountId)).some(({ status }) => status === 1))

it('records results of other accounts while one has a locked endpoint, without using up the time of a statement', async () => {
  const { db, logLines } = dispatcher
  const [locked, other] = [dispatcher.subscriber(), dispatcher.subscriber()]
  const { id } = await locked.endpoint(receiver.url('/locked'))
  await other.endpoint(receiver.url('/other'))
  await db.transaction(async (tx) => {
    await tx.query('select from webhook_endpoints where id = $1 for update', [id])
    await locked.summary()
    await waitFor(() => receiver.deliveries({ path: '/locked' }).length === 1)
    await other.summary()
    await untilDelivered(other.accountId)
  })
  await untilDelivered(locked.accountId)
  const timeouts = logLines.filter(({ msg }) => String(msg).startsWith('recording results timed out'))
  expect(timeouts.length).toBeGreaterThan(0)
  expect(JSON.stringify(timeouts)).not.toContain('statement timeout')
})
