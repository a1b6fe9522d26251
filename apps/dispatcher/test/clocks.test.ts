import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import { shiftSystemClock, waitFor } from '@signet/testkit'
import { deliveriesOf, startDispatcher, type TestDispatcher } from './support/dispatcher.js'

const MINUTE_MS = 60_000
/** Half of the clock's error. */
const TOLERANCE_MS = 5 * MINUTE_MS

let receiver: Receiver
beforeAll(async () => {
  receiver = await startReceiver()
})
afterAll(() => receiver.close())

describe.each([
  { clock: 'fast', offsetMs: 10 * MINUTE_MS },
  { clock: 'slow', offsetMs: -10 * MINUTE_MS },
])('a process whose clock is ten minutes $clock', ({ clock, offsetMs }) => {
  let dispatcher: TestDispatcher
  let restore: () => void
  beforeEach(async () => {
    restore = shiftSystemClock(offsetMs)
    dispatcher = await startDispatcher({ ports: { ca: receiver.authorityCert } })
  })
  afterEach(async () => {
    restore()
    await dispatcher.stop()
  })

  const databaseTime = async () => {
    const { rows } = await dispatcher.db.query<{ now: Date }>('select clock_timestamp() as now')
    return rows[0]?.now.getTime() ?? NaN
  }

  it('plans and signs attempts by the clock of the database', async () => {
    const path = `/fails-${clock}`
    receiver.hook(path, { answers: [reply(503)] })
    const subscriber = dispatcher.subscriber()
    await subscriber.endpoint(receiver.url(path))
    await subscriber.summary()
    const row = await waitFor(async () => {
      const [row] = await deliveriesOf(dispatcher.db, subscriber.accountId)
      return row?.next_attempt_at && row
    })
    const now = await databaseTime()
    expect(Math.abs((row.next_attempt_at?.getTime() ?? NaN) - now)).toBeLessThan(TOLERANCE_MS)
    const signedAt = 1000 * Number(receiver.deliveries({ path })[0]?.headers['webhook-timestamp'])
    expect(Math.abs(signedAt - now)).toBeLessThan(TOLERANCE_MS)
  })

  it('recovers an event that was never published', async () => {
    const path = `/lost-${clock}`
    receiver.hook(path, {})
    const subscriber = dispatcher.subscriber()
    await subscriber.endpoint(receiver.url(path))
    const eventId = await subscriber.withoutQueues().summary()
    // Older than events that may still be on their way into the queue.
    await dispatcher.db.query(
      `update webhook_events set created_at = clock_timestamp() - interval '1 minute' where id = $1`,
      [eventId],
    )
    const isRecovered = () => receiver.deliveries({ path }).length > 0
    await waitFor(async () => (await dispatcher.sweeper.sweep()) && isRecovered())
    expect(receiver.deliveries({ path })[0]?.event).toMatchObject({ id: eventId })
  })

  it('holds deliveries until a ban has ended by that clock', async () => {
    const path = `/banned-${clock}`
    receiver.hook(path, {})
    const subscriber = dispatcher.subscriber()
    await subscriber.endpoint(receiver.url(path))
    // A fast clock would say that this ban is over; a slow one would say that a ban that is over still lasts.
    const isBanned = offsetMs > 0
    await dispatcher.db.query(
      `insert into account_states (account_id, banned_until, ban_decided_at)
       values ($1, clock_timestamp() + $2::interval, clock_timestamp() - interval '1 hour')`,
      [subscriber.accountId, isBanned ? '5 minutes' : '-5 minutes'],
    )
    await subscriber.summary()
    const row = await waitFor(async () => {
      const [row] = await deliveriesOf(dispatcher.db, subscriber.accountId)
      return row && (row.next_attempt_at !== null || row.status !== 0) && row
    })
    expect(row).toMatchObject(isBanned ? { status: 0, attempts: 0 } : { status: 1, attempts: 1 })
  })
})

it('a process says why it does not begin while it cannot ask the database for the time', async () => {
  // Nothing listens on the port of the discard protocol.
  const env = { WEBHOOKS_DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' }
  const dispatcher = await startDispatcher({ env })
  const unavailable = () =>
    dispatcher.logLines.find(({ msg }) => String(msg).startsWith('database unavailable'))
  expect(await waitFor(unavailable)).toMatchObject({ tries: 1, error: { error_code: 'ECONNREFUSED' } })
  await dispatcher.stop()
})
