import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import { deleteEndpoint, patchEndpoint } from '@signet/webhook-core/stores'
import { FRESH_MS } from '../src/attempts/snapshot-freshness.js'
import { deliveriesOf, dispatchEvent } from './support/dispatcher.js'
import { gate } from './support/gate.js'
import { startStepwise, type Stepwise } from './support/stepwise.js'
import type { Subscriber, TestEndpoint } from './support/subscriber.js'

let receiver: Receiver
let dispatcher: Stepwise
beforeAll(async () => {
  receiver = await startReceiver()
  dispatcher = await startStepwise({ ports: { ca: receiver.authorityCert } })
})
afterEach(() => void jest.restoreAllMocks())
afterAll(async () => {
  await dispatcher.stop()
  await receiver.close()
})

/** Lets the next attempt wait for its body until the test opens the gate, by when the snapshot is no longer fresh. */
function holdBody() {
  const room = gate()
  const { bodies } = dispatcher
  const borrow = bodies.borrow.bind(bodies)
  const borrowing = jest.spyOn(bodies, 'borrow').mockImplementationOnce(async (...event) => {
    await room.opened
    return borrow(...event)
  })
  return {
    untilWaiting: () => waitFor(() => borrowing.mock.calls.length === 1),
    open: () => {
      const now = performance.now.bind(performance)
      jest.spyOn(performance, 'now').mockImplementation(() => now() + FRESH_MS + 1)
      room.open()
    },
  }
}

const attempts: [string, (subscriber: Subscriber) => Promise<() => Promise<unknown>>][] = [
  [
    'first',
    async (subscriber) => {
      const eventId = await subscriber.summary()
      const dispatched = await dispatchEvent(dispatcher, eventId)
      return () => dispatcher.firstAttempts.run(eventId, dispatched)
    },
  ],
  [
    'later',
    async (subscriber) => {
      const rows = await dispatcher.dispatched(subscriber)
      return () => dispatcher.attempt(...rows)
    },
  ],
]

describe.each(attempts)('a %s attempt that waits for its body', (which, prepare) => {
  async function waiting(
    path: string,
    meanwhile: (subscriber: Subscriber, endpoint: TestEndpoint) => unknown,
  ) {
    const subscriber = dispatcher.subscriber()
    const endpoint = await subscriber.endpoint(receiver.url(path))
    const attempt = await prepare(subscriber)
    const body = holdBody()
    const running = attempt()
    await body.untilWaiting()
    await meanwhile(subscriber, endpoint)
    body.open()
    await running
    expect(receiver.deliveries({ path })).toEqual([])
    return deliveriesOf(dispatcher.db, subscriber.accountId)
  }

  it('goes to the URL that the endpoint has by then', async () => {
    const url = receiver.url(`/${which}/new`)
    const rows = await waiting(`/${which}/old`, ({ accountId }, { id }) =>
      patchEndpoint(dispatcher.db, accountId, id, { url: { url, href: url }, events: ['summary.completed'] }),
    )
    expect(receiver.deliveries({ path: `/${which}/new` })).toHaveLength(1)
    expect(rows).toMatchObject([{ status: 1, attempts: 1 }])
  })

  it('is not made if the endpoint is deleted by then', async () => {
    const rows = await waiting(`/${which}/deleted`, ({ accountId }, { id }) =>
      deleteEndpoint(dispatcher.db, accountId, id),
    )
    expect(rows).toMatchObject([{ status: 2, attempts: 0, last_error: 'endpoint_deleted' }])
  })

  it('is not made if the endpoint is disabled by then', async () => {
    const rows = await waiting(`/${which}/disabled`, (_, { id }) =>
      dispatcher.db.query('update webhook_endpoints set status = 2, disabled_at = now() where id = $1', [id]),
    )
    expect(rows).toMatchObject([{ status: 2, attempts: 0, last_error: 'endpoint_disabled' }])
  })

  it('is not made while the account is banned by then', async () => {
    const until = new Date(dispatcher.clock.now().getTime() + 60_000)
    const rows = await waiting(`/${which}/banned`, ({ accountId }) =>
      dispatcher.db.query(
        `insert into account_states (account_id, banned_until, ban_decided_at) values ($1, $2, now())`,
        [accountId, until],
      ),
    )
    expect(rows).toMatchObject([{ status: 0, attempts: 0, next_attempt_at: until }])
  })
})
