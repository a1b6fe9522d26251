import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { connectRedis } from '@signet/redis'
import { testRedis, waitFor } from '@signet/testkit'
import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { QueueWorker } from '../src/queues/queue-worker.js'
import { gate, type Gate } from './support/gate.js'

type Data = { name: string; units: number }
/** BullMQ's part that blocks a connection until there is a job, for this many seconds at most. */
type Backend = { waitForJob: (seconds: number) => Promise<unknown> }

const hasName = (data: unknown): data is Data => typeof data === 'object' && data !== null && 'name' in data

describe('QueueWorker', () => {
  const { url, prefix } = testRedis()
  const connection = connectRedis({ url }, 'worker')
  let queue: Queue<Data>
  let started: Record<string, { end: Gate; release: () => void; fail: () => void }>
  let dropped: (string | undefined)[]
  const workers: QueueWorker<Data>[] = []
  beforeEach(() => {
    queue = new Queue('units', { connection, prefix })
    started = {}
    dropped = []
  })
  afterEach(async () => {
    for (const { end } of Object.values(started)) end.open()
    for (const worker of workers.splice(0)) await worker.close()
    await queue.obliterate({ force: true })
    await queue.close()
  })
  afterAll(() => connection.disconnect())

  function work(capacity: number, { longestWaitMs = 60_000 } = {}): QueueWorker<Data> {
    const worker = new QueueWorker<Data>('units', {
      longestWaitMs,
      applyPause: () => Promise.resolve(),
      queue: { connection, prefix },
      parse: (data) => (hasName(data) ? data : null),
      onDropped: (jobId) => dropped.push(jobId),
      capacity,
      backoff: () => 1,
      unitsOf({ units }) {
        if (units < 0) throw new Error('no units')
        return units
      },
      async process({ data }, _token, release) {
        const end = gate()
        let failure: Error | undefined
        const fail = () => {
          failure = new Error('failed')
          end.open()
        }
        started[data.name] = { end, release, fail }
        await end.opened
        if (failure) throw failure
      },
    })
    workers.push(worker)
    void worker.run()
    return worker
  }

  const add = (...jobs: Data[]) =>
    queue.addBulk(
      jobs.map((data) => ({ name: 'job', data, opts: { jobId: data.name, removeOnComplete: true } })),
    )
  const hasStarted = (...names: string[]) =>
    waitFor(() => names.every((name) => started[name]), { describe: `start of ${names.join()}` })
  const waiting = () => queue.getWaitingCount()

  it('starts a job at once, while it looks for more', async () => {
    work(10)
    await add({ name: 'first', units: 1 })
    await hasStarted('first')
    await add({ name: 'second', units: 1 })
    await hasStarted('second')
  })

  it('leaves in the queue what there is no room for, until units have ended, also of jobs that go on', async () => {
    work(6)
    await add(...['a', 'b', 'c', 'd'].map((name) => ({ name, units: 3 })))
    await hasStarted('a', 'b')
    expect(await waiting()).toBe(2)
    started['a']?.release()
    await hasStarted('c')
    expect(await waiting()).toBe(1)
    started['a']?.release()
    started['a']?.release()
    // More often than the job has units.
    for (let times = 0; times < 10; times += 1) started['a']?.release()
    await waitFor(async () => (await queue.getActiveCount()) === 3)
    expect(await waiting()).toBe(1)
    started['b']?.end.open()
    await hasStarted('d')
  })

  it('blocks its connection for less than after which one without an answer counts as lost, however late the next job is', async () => {
    const blocked: number[] = []
    await queue.add('job', { name: 'late', units: 1 }, { delay: 3_600_000 })
    const backend = Reflect.get(work(1), 'backend') as Backend
    const waitForJob = backend.waitForJob.bind(backend)
    backend.waitForJob = (seconds) => {
      blocked.push(seconds)
      return waitForJob(seconds)
    }
    // At its first read, the worker does not know yet that a delayed job exists.
    await waitFor(() => blocked.length >= 2, { describe: 'two blocking reads' })
    const { socketTimeout = 0 } = (connection as Redis).options
    expect(Math.max(...blocked) * 1000).toBeLessThan(socketTimeout / 2)
  })

  it('goes on while BullMQ waits for a job without end, and afterwards', async () => {
    const worker = work(10, { longestWaitMs: 50 })
    const endless = gate()
    let waits = 0
    const waitForJob = async () => {
      waits += 1
      await endless.opened
      return null
    }
    Object.assign(Reflect.get(worker, 'backend'), { waitForJob })
    await waitFor(() => waits === 1, { describe: 'the wait' })
    for (const name of ['first', 'second']) {
      await add({ name, units: 1 })
      await hasStarted(name)
    }
    expect(waits).toBe(1)
    endless.open()
    await waitFor(() => waits > 1, { describe: 'another wait' })
    await add({ name: 'third', units: 1 })
    await hasStarted('third')
  })

  it('takes a job that is larger than all of it', async () => {
    work(2)
    await add({ name: 'large', units: 5 }, { name: 'next', units: 1 })
    await hasStarted('large')
    started['large']?.end.open()
    await hasStarted('next')
  })

  it('drops a job whose data is not what was written, or no JSON, and goes on', async () => {
    await add(...['lost', 'broken', 'next'].map((name) => ({ name, units: 1 })))
    await connection.del(queue.toKey('lost'))
    await connection.hset(queue.toKey('broken'), 'data', '{"name":')
    work(1)
    await hasStarted('next')
    expect(dropped).toEqual(['lost', 'broken'])
    expect(Object.keys(started)).toEqual(['next'])
    // The worker takes the next job while it is still completing the one before.
    const left = () => connection.exists(queue.toKey('lost'), queue.toKey('broken'))
    await waitFor(async () => (await left()) === 0)
    expect(await queue.getActiveCount()).toBe(1)
  })

  it.each([
    ['opts', '{"attempts":'],
    ['opts', 'null'],
    ['progress', '{'],
  ])(
    'drops jobs whose %s BullMQ cannot read (%s), wherever it takes them, and goes on',
    async (field, text) => {
      const broken = ['fetched', 'after a success', 'after a failure']
      await add(
        ...['fetched', 'good', 'after a success', 'bad', 'after a failure', 'last'].map((name) => ({
          name,
          units: 1,
        })),
      )
      for (const name of broken) await connection.hset(queue.toKey(name), field, text)
      work(1)
      await hasStarted('good')
      started['good']?.end.open()
      await hasStarted('bad')
      started['bad']?.fail()
      await hasStarted('last')
      // The worker drops the last broken job while the job that follows it already runs.
      await waitFor(() => dropped.length === broken.length)
      expect(dropped).toEqual(broken)
      expect(await queue.getActiveCount()).toBe(1)
      expect(await connection.exists(...broken.map((name) => queue.toKey(name)))).toBe(0)
    },
  )

  it.each(['{}', '[]', '"attempts"', '{"backoff":{"type":"other"},"attempts":"many"}'])(
    'runs a job whose options are %s as any other, again if it fails',
    async (text) => {
      await add({ name: 'odd', units: 1 })
      await connection.hset(queue.toKey('odd'), 'opts', text)
      work(1)
      await hasStarted('odd')
      const first = started['odd']
      first?.fail()
      await waitFor(() => started['odd'] !== first)
      started['odd']?.end.open()
      await waitFor(async () => (await connection.exists(queue.toKey('odd'))) === 0)
      expect(dropped).toEqual([])
    },
  )

  it('goes on after a job that fails before it can be run', async () => {
    const worker = work(1)
    const errors: Error[] = []
    worker.on('error', (error) => errors.push(error))
    await add({ name: 'bad', units: -1 }, { name: 'next', units: 1 })
    await hasStarted('next')
    expect(errors.map(({ message }) => message)).toEqual(['no units'])
    expect(Object.keys(started)).toEqual(['next'])
  })

  it('leaves no job for others to find stalled when it is closed', async () => {
    const worker = work(1)
    await add({ name: 'last', units: 1 }, { name: 'left', units: 1 })
    await hasStarted('last')
    const closed = worker.close()
    started['last']?.end.open()
    await closed
    expect(await queue.getActiveCount()).toBe(0)
    expect(await waiting()).toBe(1)
    expect(Object.keys(started)).toEqual(['last'])
  })
})
