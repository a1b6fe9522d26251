import { describe, expect, it } from '@jest/globals'
import { setImmediate as turn } from 'node:timers/promises'
import { newEventId } from '@signet/webhook-core'
import type { EventToPublish } from '@signet/webhook-core/queue'
import { EventPublisher } from './event-publisher.js'

const someEvents = (count: number): EventToPublish[] =>
  Array.from({ length: count }, () => ({ id: newEventId(new Date()), accountId: 'account' }))

/** Queues whose adds end only when the test says so. */
function controlledQueues() {
  const batches: {
    events: readonly EventToPublish[]
    resolve: () => void
    reject: (error: Error) => void
  }[] = []
  const addEvents = (batch: readonly EventToPublish[]) =>
    new Promise<void>((resolve, reject) => batches.push({ events: batch, resolve, reject }))
  return { batches, queues: { addEvents } }
}

describe('EventPublisher', () => {
  it('sends what arrives during one batch together in the next one', async () => {
    const { batches, queues } = controlledQueues()
    const publisher = new EventPublisher({ queues, onMissed: () => undefined })
    const [first, second, third] = someEvents(3) as [EventToPublish, EventToPublish, EventToPublish]
    publisher.publish(first)
    await turn()
    publisher.publish(second)
    publisher.publish(third)
    batches[0]?.resolve()
    await turn()
    expect(batches.map((batch) => batch.events)).toEqual([[first], [second, third]])
    batches[1]?.resolve()
    await publisher.close()
  })

  it('sends the events of one commit together', async () => {
    const { batches, queues } = controlledQueues()
    const publisher = new EventPublisher({ queues, onMissed: () => undefined })
    const events = someEvents(3)
    // Each caller continues in a separate microtask after the commit.
    const committed = Promise.resolve()
    await Promise.all(events.map((event) => committed.then(() => publisher.publish(event))))
    await turn()
    expect(batches.map((batch) => batch.events)).toEqual([events])
    batches[0]?.resolve()
    await publisher.close()
  })

  it('reports what could not be sent and continues with the rest', async () => {
    const { batches, queues } = controlledQueues()
    const missed: number[] = []
    const publisher = new EventPublisher({ queues, onMissed: (count) => missed.push(count) })
    const [first, ...others] = someEvents(3)
    if (first) publisher.publish(first)
    await turn()
    for (const event of others) publisher.publish(event)
    batches[0]?.reject(new Error('Redis is away'))
    await turn()
    expect(missed).toEqual([1])
    batches[1]?.resolve()
    await publisher.close()
    for (const event of someEvents(1)) publisher.publish(event)
    await turn()
    expect(batches).toHaveLength(3)
  })

  it('remembers a bounded number of events while Redis hangs', () => {
    const { queues } = controlledQueues()
    let missed = 0
    const publisher = new EventPublisher({ queues, onMissed: (count) => (missed += count) })
    for (const event of someEvents(10_010)) publisher.publish(event)
    expect(missed).toBe(10)
  })
})
