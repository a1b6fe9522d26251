import { describe, expect, it } from '@jest/globals'
import { NO_REPLY, startReceiver, type Receiver } from '@signet/testkit/receiver'
import { holdsInSomeRun } from '@signet/testkit'
import { startDispatcher, type TestDispatcher } from './support/dispatcher.js'
import type { Subscriber } from './support/subscriber.js'

const EVENTS = 40
/** Below this, a measurement shows only the clock of a busy machine. */
const NOISE_MS = 30
const OTHERS = ['/other-1', '/other-2', '/other-3']

type Latencies = (
  subscriber: Subscriber,
  path: string,
  meanwhile: () => Promise<unknown>,
) => Promise<number[]>

/** Runs with a new receiver and dispatcher, so that no attempt of an earlier run still hangs. */
async function withDispatcher(
  run: (receiver: Receiver, dispatcher: TestDispatcher, latencies: Latencies) => Promise<void>,
): Promise<void> {
  const receiver = await startReceiver()
  // Few enough permits for three hanging endpoints to take all of them.
  const dispatcher = await startDispatcher({
    env: { DISPATCHER_CONCURRENCY: '16', DISPATCHER_TIMEOUT_MS: '5000' },
    ports: { ca: receiver.authorityCert },
  })
  try {
    await run(receiver, dispatcher, (...measured) => latenciesAt(receiver, ...measured))
  } finally {
    await dispatcher.stop()
    await receiver.close()
  }
}

/** Publishes one event after another, and returns the time from commit to arrival of each, shortest first. */
async function latenciesAt(receiver: Receiver, ...[subscriber, path, meanwhile]: Parameters<Latencies>) {
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

describe('a receiver that hangs', () => {
  it('leaves the latency of others within twice what it is alone', async () => {
    await holdsInSomeRun(() =>
      withDispatcher(async (receiver, dispatcher, latencies) => {
        const prompt = dispatcher.subscriber()
        const others = dispatcher.subscriber()
        await prompt.endpoint(receiver.url('/prompt'))
        for (const path of OTHERS) await others.endpoint(receiver.url(path))
        const besideOthers = () => latencies(prompt, '/prompt', () => others.summary())

        // The work is the same before and after: only the answers of the others stop.
        await besideOthers()
        const answering = await besideOthers()
        for (const path of OTHERS) receiver.hook(path, { otherwise: { kind: 'hang' } })
        const hanging = await besideOthers()

        expect(
          receiver.deliveries().filter(({ answer }) => answer.status === NO_REPLY).length,
        ).toBeGreaterThan(0)
        for (const share of [0.5, 0.9]) {
          const at = Math.floor(share * EVENTS)
          expect(hanging[at]).toBeLessThanOrEqual(2 * (answering[at] ?? 0) + NOISE_MS)
        }
      }),
    )
  })
})
