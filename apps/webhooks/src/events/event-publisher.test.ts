import { describe, expect, it } from '@jest/globals'
import { newEventId, type EventId } from '@signet/webhook-core'
import { EventPublisher } from './event-publisher.js'

const ids = (count: number) => Array.from({ length: count }, () => newEventId(new Date()))

/** Queues whose adds end only when told. */
function controlledQueues() {
  const batches: { ids: readonly EventId[]; resolve: () => void; reject: (error: Error) => void }[] = []
  const addEvents = (batch: readonly EventId[]) =>
    new Promise<void>((resolve, reject) => batches.push({ ids: batch, resolve, reject }))
  return { batches, queues: { addEvents } }
}

describe('EventPublisher', () => {
  it('sends what arrives during one batch together in the next one', async () => {
    const { batches, queues } = controlledQueues()
    const publisher = new EventPublisher({ queues, onMissed: () => undefined })
    const [first, second, third] = ids(3) as [EventId, EventId, EventId]
    publisher.publish(first)
    publisher.publish(second)
    publisher.publish(third)
    batches[0]?.resolve()
    await new Promise(setImmediate)
    expect(batches.map((batch) => batch.ids)).toEqual([[first], [second, third]])
    batches[1]?.resolve()
    await publisher.close()
  })

  it('reports what could not be sent and goes on with the rest', async () => {
    const { batches, queues } = controlledQueues()
    const missed: number[] = []
    const publisher = new EventPublisher({ queues, onMissed: (count) => missed.push(count) })
    for (const id of ids(3)) publisher.publish(id)
    batches[0]?.reject(new Error('Redis is away'))
    await new Promise(setImmediate)
    expect(missed).toEqual([1])
    batches[1]?.resolve()
    await publisher.close()
    for (const id of ids(1)) publisher.publish(id)
    expect(batches).toHaveLength(3)
  })

  it('remembers a bounded number of events while Redis hangs', () => {
    const { queues } = controlledQueues()
    let missed = 0
    const publisher = new EventPublisher({ queues, onMissed: (count) => (missed += count) })
    for (const id of ids(10_011)) publisher.publish(id)
    expect(missed).toBe(10)
  })
})
