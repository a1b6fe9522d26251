import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { connectRedis } from '@signet/redis'
import { testRedis, waitFor } from '@signet/testkit'
import { Queue } from 'bullmq'
import { QueueWorker } from '../src/queues/queue-worker.js'
import { gate, type Gate } from './support/gate.js'

type Data = { name: string }

const hasName = (data: unknown): data is Data => typeof data === 'object' && data !== null && 'name' in data

/** Redis holds something that BullMQ did not write: the queue keeps running, and the sweeper can replace each job that did not run. */
describe('a damaged queue', () => {
  const { url, prefix } = testRedis()
  const connection = connectRedis({ url }, 'worker')
  let queue: Queue<Data>
  let runs: string[]
  let dropped: (string | undefined)[]
  let errors: string[]
  let isPaused: boolean
  let held: Map<string, Gate>
  let failing: Set<string>
  let workers: QueueWorker<Data>[]
  beforeEach(() => {
    queue = new Queue('damaged', { connection, prefix })
    runs = []
    dropped = []
    errors = []
    isPaused = false
    held = new Map()
    failing = new Set()
    workers = []
  })
  afterEach(async () => {
    for (const { open } of held.values()) open()
    for (const worker of workers) await worker.close()
    const left = await connection.keys(`${queue.toKey('')}*`)
    if (left.length > 0) await connection.del(...left)
    await queue.close()
  })
  afterAll(() => connection.disconnect())

  function work(): void {
    const worker = new QueueWorker<Data>('damaged', {
      queue: { connection, prefix },
      parse: (data) => (hasName(data) ? data : null),
      onDropped: (jobId) => dropped.push(jobId),
      applyPause: () => (isPaused ? queue.pause() : queue.resume()),
      capacity: 2,
      backoff: () => 1,
      async process({ data: { name } }) {
        runs.push(name)
        await held.get(name)?.opened
        if (failing.delete(name)) throw new Error('failed')
      },
    })
    worker.on('error', ({ message }) => errors.push(message))
    workers.push(worker)
    void worker.run()
  }

  const keyOf = (name: string) => queue.toKey(name)
  const add = (names: string[], delay = 0) =>
    queue.addBulk(
      names.map((name) => ({
        name: 'job',
        data: { name },
        opts: { jobId: name, removeOnComplete: true, delay },
      })),
    )
  const hold = (...names: string[]) => names.forEach((name) => held.set(name, gate()))
  const hasRun = (name: string) => runs.includes(name)
  const isGone = async (name: string) => (await connection.exists(keyOf(name))) === 0

  /** Does what the sweeper does: adds each job that is gone and has not run, until all have run and no job is left. */
  const untilAllRan = (...names: string[]) =>
    waitFor(
      async () => {
        let isDone = true
        for (const name of names) {
          const gone = await isGone(name)
          if (gone && !hasRun(name)) await add([name])
          if (!gone || !hasRun(name)) isDone = false
        }
        return isDone
      },
      { describe: `the end of ${names.join()}` },
    )

  async function replace(key: string, type: string): Promise<void> {
    await connection.del(key)
    if (type === 'string') await connection.set(key, 'x')
    if (type === 'list') await connection.rpush(key, 'x')
    if (type === 'zset') await connection.zadd(key, 1, 'x')
    if (type === 'set') await connection.sadd(key, 'x')
    if (type === 'hash') await connection.hset(key, 'x', 'y')
  }

  const expectOnce = (...names: string[]) =>
    expect(runs.filter((name) => names.includes(name)).sort()).toEqual([...names].sort())

  it.each(['string', 'list', 'zset', 'set'])(
    'drops a waiting job whose key is a %s, and the work is done by another',
    async (type) => {
      await add(['first', 'broken', 'last'])
      await replace(keyOf('broken'), type)
      work()
      await untilAllRan('first', 'broken', 'last')
      expectOnce('first', 'broken', 'last')
      expect(dropped).toEqual(['broken'])
    },
  )

  it.each(['ats', 'ats after a success', 'ats after a failure'])(
    'drops a waiting job with a count that is no number: %s',
    async (where) => {
      await add(['first', 'broken', 'last'])
      if (where.endsWith('failure')) failing.add('first')
      await connection.hset(keyOf('broken'), 'ats', 'abc')
      if (where === 'ats') await connection.lrem(keyOf('wait'), 1, 'first')
      if (where === 'ats') await connection.lpush(keyOf('wait'), 'first')
      work()
      await untilAllRan('first', 'broken', 'last')
      expect(dropped).toEqual(['broken'])
    },
  )

  it.each(['rjk', 'deid', 'defa', 'stc', 'priority', 'delay', 'timestamp', 'pb', 'processedOn'])(
    'runs a job with another odd %s as any other, once',
    async (field) => {
      await add(['odd'])
      await connection.hset(keyOf('odd'), field, 'abc')
      work()
      await untilAllRan('odd', 'next')
      expectOnce('odd', 'next')
      expect(dropped).toEqual([])
    },
  )

  it.each([
    ['atm', () => connection.hset(keyOf('broken'), 'atm', 'abc')],
    ['parent', () => connection.hset(keyOf('broken'), 'parent', '{')],
    ['key', () => replace(keyOf('broken'), 'string')],
    ['dependencies', () => replace(`${keyOf('broken')}:dependencies`, 'string')],
    ['lock', () => replace(`${keyOf('broken')}:lock`, 'hash')],
  ])(
    'lets no job stay that it could not finish because of its %s, completed or failed',
    async (_, damage) => {
      for (const fails of [false, true]) {
        runs = []
        hold('broken')
        if (fails) failing.add('broken')
        await add(['broken'])
        if (workers.length === 0) work()
        await waitFor(() => hasRun('broken'))
        await damage()
        held.get('broken')?.open()
        held.delete('broken')
        await waitFor(() => isGone('broken'), { describe: 'the end of the job' })
        runs = []
        await untilAllRan('broken', 'next')
        expectOnce('broken', 'next')
        expect(await queue.getActiveCount()).toBe(0)
      }
    },
  )

  it('loses no job that became due together with one whose key is a string', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `job${index}`)
    await add(names, 1)
    await replace(keyOf('job3'), 'string')
    work()
    await untilAllRan(...names)
    expectOnce(...names)
  })

  it.each(['string', 'stc'])(
    'drops a job that a dead worker left behind, if BullMQ cannot take it back: %s',
    async (what) => {
      await add(['left', 'next'])
      await connection.lrem(keyOf('wait'), 1, 'left')
      await connection.lpush(keyOf('active'), 'left')
      if (what === 'string') await replace(keyOf('left'), 'string')
      else await connection.hset(keyOf('left'), 'stc', 'abc')
      work()
      await untilAllRan('left', 'next')
      expectOnce('left', 'next')
    },
  )

  it.each([
    ['wait', 'string'],
    ['wait', 'zset'],
    ['active', 'set'],
    ['delayed', 'string'],
    ['prioritized', 'list'],
    ['stalled', 'string'],
    ['marker', 'string'],
    ['meta', 'string'],
    ['stalled-check', 'string'],
    ['events', 'string'],
    ['id', 'set'],
    ['id', 'string'],
    ['pc', 'string'],
  ])(
    "deletes the queue's key %s that is a %s, says so, and what had a job gets another",
    async (name, type) => {
      await add(['waits', 'waits too'])
      await add(['later'], 1)
      await replace(keyOf(name), type)
      work()
      await waitFor(() => errors.some((error) => error.startsWith(`${keyOf(name)} was not`)))
      await untilAllRan('waits', 'waits too', 'later', 'next')
      expectOnce('waits', 'waits too', 'later', 'next')
    },
  )

  it('notices keys that are damaged while it works', async () => {
    work()
    await untilAllRan('first')
    for (const name of ['wait', 'active', 'marker', 'meta']) {
      await replace(keyOf(name), 'string')
      await waitFor(() => errors.some((error) => error.startsWith(`${keyOf(name)} was not`)))
      await untilAllRan(`after ${name}`)
    }
  })

  it.each(['concurrency', 'max', 'duration', 'opts.maxLenEvents'])(
    'takes an odd %s out of meta',
    async (field) => {
      await connection.hset(keyOf('meta'), { max: 'x', concurrency: '0', [field]: 'x' })
      work()
      await untilAllRan('first')
      expect(errors.join()).toContain(`${keyOf('meta')} was not`)
      expect(await connection.hmget(keyOf('meta'), 'concurrency', 'max', 'duration')).toEqual([
        null,
        null,
        null,
      ])
    },
  )

  it('keeps a pause, and the limit of an operator', async () => {
    isPaused = true
    await queue.pause()
    await queue.setGlobalConcurrency(3)
    await connection.hset(keyOf('meta'), 'max', 'x')
    work()
    await waitFor(() => errors.length > 0)
    expect([await queue.isPaused(), await queue.getGlobalConcurrency()]).toEqual([true, 3])
  })

  it('removes no job on which somebody works, although it is in no list, and the next one once that has ended', async () => {
    hold('busy')
    await add(['busy'])
    work()
    await waitFor(() => hasRun('busy'))
    await add(['waits'])
    await replace(keyOf('active'), 'string')
    await replace(keyOf('stray'), 'string')
    await waitFor(() => dropped.includes('stray'))
    expect(await isGone('busy')).toBe(false)
    held.get('busy')?.open()
    held.delete('busy')
    await untilAllRan('busy', 'waits', 'next')
    expectOnce('busy', 'waits', 'next')
  })

  it('removes no job of another worker when it drops one', async () => {
    hold('busy')
    work()
    await add(['busy'])
    await waitFor(() => hasRun('busy'))
    work()
    for (const name of ['a', 'b', 'c', 'd']) {
      await add([name, `${name} next`])
      await connection.hset(keyOf(name), 'ats', 'abc')
      await untilAllRan(name, `${name} next`)
    }
    expect(await queue.getActiveCount()).toBe(1)
    expect(await connection.exists(keyOf('busy'), `${keyOf('busy')}:lock`)).toBe(2)
    held.get('busy')?.open()
    held.delete('busy')
    await untilAllRan('busy')
    expectOnce('busy', 'a', 'b', 'c', 'd', 'a next', 'b next', 'c next', 'd next')
  })

  it('renews the locks of all others when one is not a lock', async () => {
    hold('busy', 'other')
    await add(['busy', 'other'])
    work()
    await waitFor(() => hasRun('busy') && hasRun('other'))
    await replace(`${keyOf('other')}:lock`, 'hash')
    await workers[0]?.extendJobLocks(
      ['other', 'busy'],
      ['t', (await connection.get(`${keyOf('busy')}:lock`)) ?? ''],
      60_000,
    )
    expect(await connection.pttl(`${keyOf('busy')}:lock`)).toBeGreaterThan(10_000)
  })
})
