import { expect, it } from '@jest/globals'
import { setImmediate as turn } from 'node:timers/promises'
import type { EventId } from '@signet/webhook-core'
import type { DeliverySnapshot } from '../deliveries/delivery-store.js'
import type { PreparedBody } from '../preparing/preparation.js'
import { AdmissionWindow } from './admission-window.js'
import type { DispatchItem } from './dispatch-service.js'
import { EventLimiter } from './event-limiter.js'
import { EventService } from './event-service.js'

const event = { eventId: 'evt_1' as EventId, accountId: 'a' }
const unprepared = {
  id: event.eventId,
  accountId: event.accountId,
  type: 'summary.completed' as const,
  audioId: 'rec_1',
  targetEndpointId: null,
  createdAt: new Date(),
}

/** Runs an event that comes without a body, and returns what was dispatched. */
async function dispatchedWith(bytes: number): Promise<DispatchItem[]> {
  const items: DispatchItem[] = []
  const body: PreparedBody = { body: Buffer.alloc(bytes), unconverted: null }
  const service = new EventService({
    limiter: new EventLimiter({ capacity: 10 }),
    admissionWindow: new AdmissionWindow({ min: 10, max: 10 }),
    dispatch: {
      run(item) {
        items.push(item)
        const nothing = { created: [], unfinished: [], readAt: 0 }
        return Promise.resolve(item.prepared ? nothing : { ...nothing, unprepared })
      },
    },
    preparation: { run: (_event, _options, use) => use(body) },
    firstAttempts: { run: () => Promise.resolve() },
  })
  await service.run(event)
  return items
}

it('dispatches a body apart from small ones where it turns out to be large', async () => {
  expect((await dispatchedWith(300 * 1024)).map(({ bytes }) => bytes)).toEqual([undefined, 300 * 1024])
  expect((await dispatchedWith(1024)).map(({ bytes }) => bytes)).toEqual([undefined, undefined])
})

it('dispatches no more than can be sent soon, and the next event when one was sent', async () => {
  const dispatched: string[] = []
  const sent: (() => void)[] = []
  const service = new EventService({
    limiter: new EventLimiter({ capacity: 1000 }),
    admissionWindow: new AdmissionWindow({ min: 10, max: 10 }),
    dispatch: {
      run({ id }) {
        dispatched.push(id)
        return Promise.resolve({ created: [{} as DeliverySnapshot], unfinished: [], readAt: 0 })
      },
    },
    preparation: { run: () => Promise.reject(new Error('they have bodies')) },
    firstAttempts: {
      run: (_id, _dispatched, run) =>
        new Promise((resolve) =>
          sent.push(() => {
            run?.onSent?.()
            resolve()
          }),
        ),
    },
  })
  const all = Array.from({ length: 50 }, () => service.run(event))
  await turn()
  // Three quarters of the window, because other accounts may come.
  expect(dispatched).toHaveLength(8)
  sent.shift()?.()
  await turn()
  expect(dispatched).toHaveLength(9)
  while (sent.length > 0) {
    sent.splice(0).forEach((end) => end())
    await turn()
  }
  await Promise.all(all)
  expect(dispatched).toHaveLength(50)
})
