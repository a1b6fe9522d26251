import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { deduplicate, EventInProgressError, type EventStore, type WebhookEvent } from '../src/index.js'

const pingOf = (id: string): WebhookEvent => ({
  id,
  type: 'webhook.ping',
  created_at: '2026-01-01T00:00:00.000Z',
  data: { endpoint_id: '42', message: 'This is a test event.' },
})
const newEvent = () => pingOf(`evt_${randomUUID().replaceAll('-', '')}`)

/** `all` resolves once `arrive` has been called `total` times. */
function countTo(total: number) {
  let arrived = 0
  let open: (() => void) | undefined
  const all = new Promise<void>((resolve) => (open = resolve))
  return {
    arrive: () => {
      arrived += 1
      if (arrived === total) open?.()
    },
    all,
  }
}

/** Tests what `deduplicate` promises with any store. `expire` ends all leases. */
export function describeEventStore(
  name: string,
  { store, expire }: { store: () => EventStore; expire: () => void | Promise<void> },
): void {
  describe(`deduplicate with ${name}`, () => {
    it('processes the first delivery of an event and no repeat', async () => {
      const [event, other] = [newEvent(), newEvent()]
      const processed: string[] = []
      const handle = deduplicate({ store: store() }, ({ id }) => processed.push(id))
      expect(await handle(event)).toBe(1)
      expect(await handle(event)).toBeUndefined()
      await handle(other)
      expect(processed).toEqual([event.id, other.id])
    })

    it('gives one of many simultaneous deliveries to the function, and fails the others until it is done', async () => {
      const event = newEvent()
      const decided = countTo(20)
      let started = 0
      const handle = deduplicate({ store: store() }, async () => {
        started += 1
        decided.arrive()
        // Keeps working until every other caller has been told to come back.
        await decided.all
        return 'processed'
      })
      const results = await Promise.all(
        Array.from({ length: 20 }, () =>
          handle(event).catch((error: unknown) => {
            decided.arrive()
            return error
          }),
        ),
      )
      expect(started).toBe(1)
      expect(results.filter((result) => result === 'processed')).toHaveLength(1)
      expect(results.filter((result) => result instanceof EventInProgressError)).toHaveLength(19)
      expect(await handle(event)).toBeUndefined()
    })

    it('processes an event again that failed', async () => {
      const event = newEvent()
      const outcomes = [new Error('queue is down'), new Error('still down'), 'stored', 'again']
      const handle = deduplicate({ store: store() }, () => {
        const outcome = outcomes.shift()
        if (outcome instanceof Error) throw outcome
        return outcome
      })
      await expect(handle(event)).rejects.toThrow('queue is down')
      await expect(handle(event)).rejects.toThrow('still down')
      expect(await handle(event)).toBe('stored')
      expect(await handle(event)).toBeUndefined()
    })

    it('processes an event again whose owner died, and lets a late failure of that one take nothing away', async () => {
      const event = newEvent()
      const shared = store()
      expect(await shared.claim(event.id, 'dead', 60)).toBe('claimed')
      expect(await shared.claim(event.id, 'second', 60)).toBe('in_progress')
      await expire()
      expect(await shared.claim(event.id, 'second', 60)).toBe('claimed')
      await shared.release(event.id, 'dead')
      expect(await shared.claim(event.id, 'third', 60)).toBe('in_progress')
      await shared.complete(event.id, 'second')
      await shared.release(event.id, 'second')
      expect(await shared.claim(event.id, 'third', 60)).toBe('done')
      await expire()
      expect(await shared.claim(event.id, 'third', 60)).toBe('done')
    })

    it('remembers what a slow owner completed after its lease', async () => {
      const event = newEvent()
      const shared = store()
      await shared.claim(event.id, 'slow', 60)
      await expire()
      await shared.complete(event.id, 'slow')
      expect(await shared.claim(event.id, 'second', 60)).toBe('done')
    })
  })
}
