import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Queryable } from '@signet/db'
import { DeferredJobs } from '../src/attempts/deferred-jobs.js'
import { deferDeliveries } from './support/deferred.js'
import { startDispatcher, type TestDispatcher } from './support/dispatcher.js'
import type { Subscriber } from './support/subscriber.js'

// The workers do not run, so jobs that were started stay in the queue.
let dispatcher: TestDispatcher
beforeAll(async () => {
  dispatcher = await startDispatcher({ env: { DISPATCHER_CONCURRENCY: '4' }, start: false })
})
afterAll(() => dispatcher.stop())

/** An account with a fast endpoint and deliveries that were deferred for it. */
async function deferredFor(count: number): Promise<{ endpointId: string; delayed: () => Promise<number> }> {
  const subscriber: Subscriber = dispatcher.subscriber()
  const { id: endpointId } = await subscriber.endpoint('https://receiver.example/hook')
  const acquired = await dispatcher.limiter.acquire({ endpointId, accountId: subscriber.accountId })
  if (!('permit' in acquired)) throw new Error('no permit')
  acquired.permit.release()
  const jobIds = await deferDeliveries(dispatcher, subscriber, count)
  const { deliveries } = dispatcher.queues
  const delayed = async () => {
    const states = await Promise.all(jobIds.map((id) => deliveries.getJobState(id)))
    return states.filter((state) => state === 'delayed').length
  }
  return { endpointId, delayed }
}

function searches() {
  const { db, queues, limiter, now } = dispatcher
  let nowMs = 0
  let reads = 0
  const counting: Pick<Queryable, 'query'> = {
    query: (...query: Parameters<typeof db.query>) => {
      reads += 1
      return db.query(...query)
    },
  }
  const jobs = new DeferredJobs({ db: counting, queues, limiter, now, steadyNow: () => nowMs })
  return { jobs, reads: () => reads, pass: (ms: number) => (nowMs += ms) }
}

describe('the search for deferred jobs', () => {
  it('starts no more of them at a time than the process has permits, and serves endpoints in turn', async () => {
    const { jobs } = searches()
    const [a, b] = [await deferredFor(10), await deferredFor(10)]
    for (const { endpointId } of [a, b]) jobs.deferred(endpointId)
    const delayed = async () => [await a.delayed(), await b.delayed()]
    await jobs.run()
    expect(await delayed()).toEqual([6, 10])
    await jobs.run()
    expect(await delayed()).toEqual([6, 6])
    await jobs.run()
    expect(await delayed()).toEqual([2, 6])
  })

  it('searches once more a second later, for jobs that were not in Redis yet, and then no more', async () => {
    const { jobs, reads, pass } = searches()
    const { endpointId, delayed } = await deferredFor(2)
    jobs.deferred(endpointId)
    await jobs.run()
    expect([await delayed(), reads()]).toEqual([0, 1])
    await jobs.run()
    expect(reads()).toBe(1)
    pass(1000)
    await jobs.run()
    expect(reads()).toBe(2)
    pass(1000)
    await jobs.run()
    expect(reads()).toBe(2)
  })

  it.each([
    ['began late', 1001, 1],
    ['began on time', 1000, 0],
  ])('takes an attempt that %s for a sign of deferred jobs, or not', async (_, lateMs, reads) => {
    const search = searches()
    const { endpointId } = await deferredFor(1)
    const dueAt = new Date(0)
    search.jobs.attempted(endpointId, { dueAt, startedAt: new Date(lateMs) })
    search.jobs.attempted(endpointId, { dueAt: null, startedAt: new Date(lateMs) })
    await search.jobs.run()
    expect(search.reads()).toBe(reads)
  })

  it('reads nothing for an endpoint whose permits are in use', async () => {
    const { jobs, reads } = searches()
    const subscriber = dispatcher.subscriber()
    const { id: endpointId } = await subscriber.endpoint('https://receiver.example/hook')
    const acquired = await dispatcher.limiter.acquire({ endpointId, accountId: subscriber.accountId })
    jobs.deferred(endpointId)
    await jobs.run()
    expect(reads()).toBe(0)
    if ('permit' in acquired) acquired.permit.release()
    await jobs.run()
    expect(reads()).toBe(1)
  })
})
