import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import type { DeliveryId } from '@signet/webhook-core'
import { listAttempts } from '../src/deliveries/attempt-store.js'
import {
  deliveriesOf,
  dispatchEvent,
  dispatchInRows,
  startAnother,
  type TestDispatcher,
} from './support/dispatcher.js'
import { gate } from './support/gate.js'
import { jobOf, startStepwise, type Stepwise } from './support/stepwise.js'
import type { Subscriber } from './support/subscriber.js'

describe('two processes with the same job, because the lock of the first one ran out', () => {
  let receiver: Receiver
  let frozen: Stepwise
  let other: TestDispatcher
  let subscriber: Subscriber
  beforeAll(async () => {
    receiver = await startReceiver()
    // No row is read again before an attempt, however slow the machine is.
    const ports = { ca: receiver.authorityCert, freshMs: Infinity }
    frozen = await startStepwise({ ports })
    other = startAnother(frozen.env, { ...ports, now: frozen.clock.now, random: () => 0 }, false)
    await waitFor(() => other.queues.isConnected)
  })
  beforeEach(async () => {
    await frozen.queues.deliveries.obliterate({ force: true })
    subscriber = frozen.subscriber()
  })
  afterAll(async () => {
    await other.stop()
    await frozen.stop()
    await receiver.close()
  })

  /** A receiver that gives its first answer when the gate opens, and all others at once. */
  async function aReceiver(path: string, [first, others]: readonly [number, number]) {
    const thawed = gate()
    receiver.hook(path, { answers: [reply(first, { after: thawed.opened })], otherwise: reply(others) })
    await subscriber.endpoint(receiver.url(path))
    return {
      thaw: thawed.open,
      arrived: (count: number) => waitFor(() => receiver.deliveries({ path }).length === count),
    }
  }
  const theRow = async () => {
    const rows = await deliveriesOf(frozen.db, subscriber.accountId)
    expect(rows).toHaveLength(1)
    return rows[0] as (typeof rows)[number]
  }
  const logOf = async ({ id }: { id: string }) =>
    (await listAttempts(frozen.db, [id as DeliveryId])).map(({ number, httpStatus }) => [number, httpStatus])

  it('counts both first attempts of an event whose job was made again', async () => {
    const { thaw, arrived } = await aReceiver('/again', [200, 500])
    const eventId = await subscriber.summary()
    // Both have the event before one of them could give its delivery a row.
    const [forFrozen, forOther] = [await dispatchEvent(frozen, eventId), await dispatchEvent(other, eventId)]
    const slow = frozen.firstAttempts.run(eventId, forFrozen)
    await arrived(1)
    await other.firstAttempts.run(eventId, forOther)
    expect(await theRow()).toMatchObject({ status: 0, attempts: 1 })
    thaw()
    await slow
    expect(await theRow()).toMatchObject({ status: 1, attempts: 2 })
    expect(await logOf(await theRow())).toEqual([
      [1, 500],
      [2, 200],
    ])
  })

  it('counts a first attempt in the row of another process, which goes on with the delivery', async () => {
    const { thaw, arrived } = await aReceiver('/goes-on', [503, 200])
    const eventId = await subscriber.summary()
    const slow = frozen.firstAttempts.run(eventId, await dispatchEvent(frozen, eventId))
    await arrived(1)
    const taken = await dispatchInRows(other, eventId)
    thaw()
    await slow
    expect(await theRow()).toMatchObject({ status: 0, attempts: 1, last_error: 'http_503' })
    await other.firstAttempts.run(eventId, taken, { unrecorded: 'any' })
    const row = await theRow()
    expect(row).toMatchObject({ status: 0, attempts: 1, last_error: 'http_503' })
    expect((await frozen.queues.deliveries.getJobs()).map(({ id }) => id)).toEqual([`dlv_${row.id}`])
  })

  it('counts both of a later attempt, and keeps the time of the next', async () => {
    const { thaw, arrived } = await aReceiver('/later', [503, 500])
    const [row] = await frozen.scheduled(subscriber)
    if (!row) throw new Error('a delivery')
    const slow = frozen.attempt(row)
    await arrived(1)
    await other.attempts.run(jobOf(row), { wasDeferred: false })
    const before = await theRow()
    thaw()
    await slow
    expect(await theRow()).toEqual({ ...before, attempts: 2 })
    expect(await logOf(row)).toEqual([
      [1, 500],
      [2, 503],
    ])
  })

  it('counts an attempt once that was given up as interrupted, whatever comes of it', async () => {
    const { thaw, arrived } = await aReceiver('/given-up', [200, 500])
    const [row] = await frozen.scheduled(subscriber)
    if (!row) throw new Error('a delivery')
    const slow = frozen.attempt(row)
    await arrived(1)
    await other.attempts.run(jobOf(row), { losses: 1, wasDeferred: false })
    await arrived(2)
    expect(await theRow()).toMatchObject({ status: 0, attempts: 2 })
    thaw()
    await slow
    expect(await theRow()).toMatchObject({ status: 1, attempts: 2 })
    expect(await logOf(row)).toEqual([
      [1, 200],
      [2, 500],
    ])
  })
})
