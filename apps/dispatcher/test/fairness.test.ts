import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startReceiver, type Receiver } from '@signet/testkit'
import { startDispatcher, type TestDispatcher } from './support/dispatcher.js'
import { type Subscriber } from './support/subscriber.js'

const EVENTS = 40
/** Below this the clock of a busy machine is all that is measured. */
const NOISE_MS = 30

describe('H.8 row 51a: a receiver that hangs', () => {
  let receiver: Receiver
  let dispatcher: TestDispatcher
  beforeAll(async () => {
    receiver = await startReceiver()
    // So few places that three hanging endpoints could take all of them.
    dispatcher = await startDispatcher({
      env: { DISPATCHER_CONCURRENCY: '16', DISPATCHER_TIMEOUT_MS: '5000' },
      ports: { ca: receiver.authorityCert },
    })
  })
  afterAll(async () => {
    await dispatcher.stop()
    await receiver.close()
  })

  /** One event after the other; the time from commit to arrival of each, shortest first. */
  async function latencies(subscriber: Subscriber, path: string, meanwhile = () => Promise.resolve()) {
    const times: number[] = []
    for (let i = 0; i < EVENTS; i += 1) {
      await meanwhile()
      const after = receiver.deliveries().at(-1)
      const startedAt = performance.now()
      await subscriber.summary()
      await receiver.waitForDelivery({ path, ...(after && { after }) })
      times.push(performance.now() - startedAt)
    }
    return times.sort((a, b) => a - b)
  }

  it('leaves the latency of others within twice what it is alone', async () => {
    const prompt = dispatcher.subscriber()
    await prompt.endpoint(receiver.url('/prompt'))
    await latencies(prompt, '/prompt')
    const alone = await latencies(prompt, '/prompt')

    const slow = dispatcher.subscriber()
    for (const path of ['/hangs-1', '/hangs-2', '/hangs-3']) {
      await slow.endpoint(receiver.url(path))
      receiver.hook(path, { otherwise: { kind: 'hang' } })
    }
    const together = await latencies(prompt, '/prompt', async () => void (await slow.summary()))

    expect(receiver.deliveries({ path: '/hangs-1' }).length).toBeGreaterThan(0)
    for (const share of [0.5, 0.9]) {
      const at = Math.floor(share * EVENTS)
      expect(together[at]).toBeLessThanOrEqual(2 * (alone[at] ?? 0) + NOISE_MS)
    }
  }, 60_000)
})
