import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import { startDispatcher, type TestDispatcher } from './support/dispatcher.js'
import type { Subscriber } from './support/subscriber.js'

/** These tests check order, not time: others are served before a single attempt that hangs has ended. */
describe('an account whose receivers hang', () => {
  let receiver: Receiver
  let dispatcher: TestDispatcher
  beforeEach(async () => {
    receiver = await startReceiver()
    dispatcher = await startDispatcher({
      env: { DISPATCHER_CONCURRENCY: '16' },
      ports: { ca: receiver.authorityCert },
    })
  })
  afterEach(async () => {
    // Closing the connections ends the attempts that hang.
    await receiver.close()
    await dispatcher.stop()
  })

  const arrived = (path: string) => receiver.deliveries().filter((one) => one.path.startsWith(path)).length

  /** An account with many endpoints below a path. */
  async function heavy(path: string, endpoints: number): Promise<Subscriber> {
    const subscriber = dispatcher.subscriber()
    for (let number = 0; number < endpoints; number += 1)
      await subscriber.endpoint(receiver.url(`${path}/${number}`))
    return subscriber
  }

  function hangs(path: string, endpoints: number): void {
    for (let number = 0; number < endpoints; number += 1)
      receiver.hook(`${path}/${number}`, { otherwise: { kind: 'hang' } })
  }

  /** An account without deliveries. Create it before anything hangs, because attempts that hang end after 8 s. */
  async function aNewAccount() {
    const subscriber = dispatcher.subscriber()
    const path = `/other/${subscriber.accountId}`
    return { subscriber, path, endpoint: await subscriber.endpoint(receiver.url(path)) }
  }

  /** Expects the account's first deliveries to arrive before any attempt that hangs has ended. */
  async function expectServed({ subscriber, path, endpoint }: Awaited<ReturnType<typeof aNewAccount>>) {
    await subscriber.summary()
    await subscriber.ping(endpoint.id)
    await waitFor(() => arrived(path) === 2, { describe: 'deliveries of a new account' })
    const { rows } = await dispatcher.db.query(
      `select from webhook_attempts a join webhook_deliveries d on d.id = a.delivery_id
       join webhook_endpoints e on e.id = d.endpoint_id where e.url like '%/hanging/%' and a.error <> ''`,
    )
    expect(rows).toHaveLength(0)
  }

  it('leaves room for the first delivery of another, however many new endpoints it has', async () => {
    hangs('/hanging/a', 30)
    const [subscriber, other] = [await heavy('/hanging/a', 30), await aNewAccount()]
    await subscriber.summary()
    await waitFor(() => arrived('/hanging') >= 3)
    await expectServed(other)
  })

  it('leaves room for it also together with others like it', async () => {
    const other = await aNewAccount()
    const accounts: (readonly [path: string, Subscriber])[] = []
    for (const path of ['/hanging/a', '/hanging/b', '/hanging/c']) {
      hangs(path, 10)
      accounts.push([path, await heavy(path, 10)])
    }
    for (const [path, subscriber] of accounts) {
      await subscriber.summary()
      await waitFor(() => arrived(path) >= 1)
    }
    await expectServed(other)
  })

  it('leaves room for it also if all of them answered at once until now', async () => {
    const [subscriber, other] = [await heavy('/hanging/a', 20), await aNewAccount()]
    await subscriber.summary()
    await waitFor(() => arrived('/hanging') === 20)
    hangs('/hanging/a', 20)
    // More deliveries than the process attempts and admits at once, so that most of them wait in it.
    await subscriber.summaries(100)
    await waitFor(() => arrived('/hanging') >= 20 + 8)
    await expectServed(other)
  })
})

describe('an account whose receivers are slower than it publishes', () => {
  let receiver: Receiver
  let dispatcher: TestDispatcher
  beforeEach(async () => {
    receiver = await startReceiver()
    dispatcher = await startDispatcher({
      // The worker takes 72 events from the queue at once.
      env: { DISPATCHER_CONCURRENCY: '8' },
      ports: { ca: receiver.authorityCert },
    })
  })
  afterEach(async () => {
    await receiver.close()
    await dispatcher.stop()
  })

  const arrived = (path: string) => receiver.deliveries().filter((one) => one.path.startsWith(path)).length

  /** An account with five endpoints, which are not so slow that their deliveries would be deferred. */
  async function aSlowAccount(path: string): Promise<Subscriber> {
    const slow = dispatcher.subscriber()
    for (let number = 0; number < 5; number += 1) {
      await slow.endpoint(receiver.url(`${path}/${number}`))
      receiver.hook(`${path}/${number}`, { otherwise: reply(200, { delayMs: 400 }) })
    }
    return slow
  }

  it.each([1, 3])(
    'delays no other account, however many events of %i such accounts wait within their allowances',
    async (count) => {
      const other = dispatcher.subscriber()
      const slow = await Promise.all(Array.from({ length: count }, (_, i) => aSlowAccount(`/slow/${i}`)))
      const endpoint = await other.endpoint(receiver.url('/other'))
      // Deliveries to endpoints that were not measured yet would be deferred.
      for (const one of slow) {
        const before = arrived('/slow')
        await one.summary()
        await waitFor(() => arrived('/slow') === before + 5 && dispatcher.limiter.size === 0)
      }
      await Promise.all(slow.map((one) => one.summaries(200)))
      await waitFor(() => arrived('/slow') >= 5 * count + 15)
      const before = arrived('/slow')
      await other.summary()
      await other.ping(endpoint.id)
      // In queue order, everything beyond what the process takes at once would end first: 640 deliveries, or 2,640 of three accounts.
      await waitFor(() => arrived('/other') === 2 || arrived('/slow') - before >= 200)
      expect(arrived('/other')).toBe(2)
    },
  )
})
