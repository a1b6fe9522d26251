import { describe, expect, it } from '@jest/globals'
import { serverSettings } from '../config/server-settings.js'
import { accountEventHandler } from './account-event-handler.js'

/** What both services promise (docs/account-events.md#how-soon). */
const BOUND_MS = 5000
/** Time left for the request that succeeds and for the statements around it. */
const DELIVERY_MS = 500

async function times() {
  let timeoutMs = NaN
  const handler = accountEventHandler({
    concurrency: 1,
    outbound: {
      request: (request) => {
        timeoutMs = request.timeoutMs ?? Infinity
        return Promise.resolve({ status: 204, headers: {}, text: '' })
      },
    },
    target: { url: 'http://receiver.test/', key: Buffer.alloc(32) },
    now: () => new Date(),
  })
  const meta = { requestId: '', route: '', ip: '' }
  const { signal } = new AbortController()
  await handler.send({}, { id: 'evt', attempt: 1, createdAt: new Date(), meta, signal })
  const delays = Array.from({ length: 200 }, (_, n) => handler.retryDelayMs(n + 1))
  return {
    timeoutMs,
    pauseMs: handler.attemptMs - timeoutMs,
    longestRetryMs: Math.max(...delays),
    claimMs: handler.attemptMs + (handler.reportMs ?? Infinity),
    pollMs: Number(serverSettings.outboxPollInterval.fallback),
  }
}

describe('an account event is delivered within five seconds', () => {
  it('of a receiver coming back that let the last attempt hang', async () => {
    const { timeoutMs, longestRetryMs, pollMs, pauseMs } = await times()
    expect(pauseMs).toBeGreaterThanOrEqual(0)
    expect(timeoutMs + longestRetryMs + pollMs + pauseMs + DELIVERY_MS).toBeLessThanOrEqual(BOUND_MS)
  })

  it('of both coming back, when the sender was killed right after it claimed the event', async () => {
    const { claimMs, pollMs, pauseMs } = await times()
    expect(claimMs + pollMs + pauseMs + DELIVERY_MS).toBeLessThanOrEqual(BOUND_MS)
  })
})
