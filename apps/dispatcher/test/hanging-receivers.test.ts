import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { startReceiver, type Receiver } from '@signet/local'
import { waitFor } from '@signet/testkit'
import { startDispatcher, type TestDispatcher } from './support/dispatcher.js'
import type { Subscriber } from './support/subscriber.js'

/** Everything here is about order, not about time: others are served before a single attempt that hangs has ended. */
describe('an account whose receivers hang', () => {
  let receiver: Receiver
  let dispatcher: TestDispatcher
  beforeEach(async () => {
    receiver = await startReceiver()
    dispatcher = await startDispatcher({
      env: { DISPATCHER_CONCURRENCY: '16', DISPATCHER_TIMEOUT_MS: '8000' },
      ports: { ca: receiver.authorityCert },
    })
  })
  afterEach(async () => {
    // Closing the connections ends what hangs.
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

  /** Attempts of everybody else have ended with the first delivery of an account that is new. */
  async function expectNewAccountServed(): Promise<void> {
    const other = dispatcher.subscriber()
    const path = `/other/${other.accountId}`
    const { id } = await other.endpoint(receiver.url(path))
    await other.summary()
    await other.ping(id)
    await waitFor(() => arrived(path) === 2, { describe: 'deliveries of a new account' })
    const { rows } = await dispatcher.db.query(
      `select from webhook_attempts a join webhook_deliveries d on d.id = a.delivery_id
       join webhook_endpoints e on e.id = d.endpoint_id where e.url like '%/hanging/%' and a.error <> ''`,
    )
    expect(rows).toHaveLength(0)
  }

  it('leaves room for the first delivery of another, however many new endpoints it has', async () => {
    hangs('/hanging/a', 30)
    const subscriber = await heavy('/hanging/a', 30)
    await subscriber.summary()
    await waitFor(() => arrived('/hanging') >= 3)
    await expectNewAccountServed()
  })

  it('leaves room for it also together with others like it', async () => {
    for (const name of ['a', 'b', 'c']) {
      hangs(`/hanging/${name}`, 10)
      const subscriber = await heavy(`/hanging/${name}`, 10)
      await subscriber.summary()
      await waitFor(() => arrived(`/hanging/${name}`) >= 1)
    }
    await expectNewAccountServed()
  })

  it('leaves room for it also if all of them answered at once until now', async () => {
    const subscriber = await heavy('/hanging/a', 20)
    await subscriber.summary()
    await waitFor(() => arrived('/hanging') === 20)
    hangs('/hanging/a', 20)
    // More than the process has attempts and admits deliveries, so that most of them wait in it.
    await subscriber.summaries(100)
    await waitFor(() => arrived('/hanging') >= 20 + 8)
    await expectNewAccountServed()
  })
})
