import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { Db } from '@signet/db'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import { deliveriesOf, startDispatcher, type TestDispatcher } from './support/dispatcher.js'
import { gate } from './support/gate.js'
import type { Subscriber } from './support/subscriber.js'

let receiver: Receiver
let dispatcher: TestDispatcher
let subscriber: Subscriber
beforeAll(async () => {
  receiver = await startReceiver()
})
beforeEach(async () => {
  dispatcher = await startDispatcher({ ports: { ca: receiver.authorityCert } })
  subscriber = dispatcher.subscriber()
})
afterEach(() => dispatcher.stop())
afterAll(() => receiver.close())

const databaseWaits = async () => {
  const metric = await dispatcher.registry.getSingleMetric('signet_delivery_database_waits_total')?.get()
  return metric?.values[0]?.value ?? 0
}

const allDelivered = (count: number) =>
  waitFor(async () => {
    const rows = await deliveriesOf(dispatcher.db, subscriber.accountId)
    return rows.length === count && rows.every(({ status }) => status === 1)
  })

it('sends nothing twice because PostgreSQL is a standby when the answer comes', async () => {
  await subscriber.endpoint(receiver.url('/standby'))
  const failover = gate()
  receiver.hook('/standby', { otherwise: reply(200, { after: failover.opened }) })
  for (let i = 0; i < 5; i += 1) await subscriber.summary()
  await waitFor(() => receiver.deliveries({ path: '/standby' }).length === 5)
  await becomeReadOnly(true)
  failover.open()
  // The first error may be the lost connection, and only the first is logged. A later try meets the standby itself.
  const triesBefore = await databaseWaits()
  await waitFor(async () => (await databaseWaits()) >= triesBefore + 3)
  await becomeReadOnly(false)
  await allDelivered(5)
  expect(receiver.deliveries({ path: '/standby' })).toHaveLength(5)
})

/** Acts as the server that the name leads to after a failover: all connections are new, and while `readOnly`, they cannot write. */
async function becomeReadOnly(readOnly: boolean): Promise<void> {
  const elsewhere = new Db({ connectionString: dispatcher.env['WEBHOOKS_DATABASE_URL'] ?? '', max: 1 })
  await elsewhere.query('set session characteristics as transaction read write')
  const { rows } = await elsewhere.query<{ name: string }>('select current_database() as name')
  const value = readOnly ? 'on' : 'off'
  await elsewhere.query(`alter database ${rows[0]?.name} set default_transaction_read_only = ${value}`)
  await elsewhere.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()`,
  )
  await elsewhere.close()
}

it('sends nothing twice because a table was locked for longer than a statement waits', async () => {
  await subscriber.endpoint(receiver.url('/locked'))
  const locked = gate()
  receiver.hook('/locked', { otherwise: reply(200, { after: locked.opened }) })
  await subscriber.summary()
  await waitFor(() => receiver.deliveries({ path: '/locked' }).length === 1)
  await dispatcher.db.transaction(async (tx) => {
    await tx.query('lock table webhook_attempts in exclusive mode')
    locked.open()
    await waitFor(() =>
      dispatcher.logLines.some(({ msg }) => /^recording results timed out/.test(String(msg))),
    )
  })
  await allDelivered(1)
  expect(receiver.deliveries({ path: '/locked' })).toHaveLength(1)
})
