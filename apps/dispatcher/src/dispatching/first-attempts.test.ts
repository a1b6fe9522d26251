import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { newEventId } from '@signet/webhook-core'
import { UnwrittenEvent } from '../attempts/unwritten-event.js'
import type { DeliverySnapshot } from '../deliveries/delivery-store.js'
import { FirstAttempts } from './first-attempts.js'

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

it('writes deliveries as pending within a second while their first attempts last', async () => {
  const unused = () => Promise.reject(new Error('not expected'))
  const firstAttempts = new FirstAttempts({
    db: { query: unused },
    // The receiver does not answer.
    attempts: { runFirst: () => new Promise(() => undefined) },
    lostRuns: { reportFirst: unused },
    queues: { addDeliveries: unused },
    bodies: { drop: () => undefined, firstAttemptsEnded: () => undefined },
    retryWhileUnavailable: (work) => work(),
    now: () => new Date(),
  })
  const eventId = newEventId(new Date())
  const created = [{ endpoint: {} } as DeliverySnapshot]
  const unwritten = new UnwrittenEvent(eventId, created, () => Promise.resolve(true))
  void firstAttempts.run(eventId, { created, unwritten, unfinished: [], readAt: 0 })
  // A delivery that ends soon gets its row with its result, in one statement.
  await jest.advanceTimersByTimeAsync(100)
  expect(unwritten.isWritten).toBe(false)
  await jest.advanceTimersByTimeAsync(800)
  expect(unwritten.isWritten).toBe(true)
})
