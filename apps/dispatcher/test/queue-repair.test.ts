import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { connectRedis } from '@signet/redis'
import { startPrivateRedis, waitFor, type PrivateRedis } from '@signet/testkit'
import { Queue } from 'bullmq'
import { QueueRepair } from '../src/queues/queue-repair.js'
import { FIND_SUSPECTS, REMOVE_STRAYS } from '../src/queues/repair-scripts.js'

describe('the repair of a queue', () => {
  let server: PrivateRedis
  let connection: ReturnType<typeof connectRedis>
  let queue: Queue
  let repair: QueueRepair
  let dropped: string[]
  /** What the repair calls when the queue may have been paused. */
  let applyPause: () => Promise<unknown>
  beforeAll(async () => {
    server = await startPrivateRedis()
    connection = connectRedis({ url: server.url }, 'worker')
  })
  beforeEach(() => {
    dropped = []
    applyPause = () => Promise.resolve()
    queue = new Queue('repaired', { connection })
    repair = new QueueRepair({
      connection,
      toKey: (name) => queue.toKey(name),
      onDropped: (jobId) => dropped.push(jobId),
      onError: () => undefined,
      applyPause: () => applyPause(),
    })
  })
  afterEach(async () => {
    await repair.stop()
    await queue.close()
    await connection.flushall()
  })
  afterAll(async () => {
    connection.disconnect()
    await server.remove()
  })

  const add = (...names: string[]) =>
    queue.addBulk(names.map((name) => ({ name: 'job', data: {}, opts: { jobId: name } })))

  it('keeps a queue paused whose meta is a string, until somebody has said whether it is, which is tried again', async () => {
    await queue.pause()
    await connection.del(queue.toKey('meta'))
    await connection.set(queue.toKey('meta'), 'x')
    const seen: boolean[] = []
    applyPause = async () => {
      seen.push(await queue.isPaused())
      if (seen.length === 1) throw new Error('no database')
      await queue.resume()
    }
    repair.start()
    await waitFor(async () => seen.length > 1 && !(await queue.isPaused()))
    expect(seen).toEqual([true, true])
  })

  it('removes jobs that are in no list, and searches no list once for each of them', async () => {
    const strays = Array.from({ length: 300 }, (_, index) => `stray${index}`)
    await add(...strays)
    await connection.del(queue.toKey('wait'))
    await add('waits')
    await connection.config('RESETSTAT')
    repair.lookForStrays()
    repair.start()
    await waitFor(() => dropped.length === strays.length)
    expect([...dropped].sort()).toEqual(strays.sort())
    expect(await queue.getJob('waits')).toBeDefined()
    const used = await connection.info('commandstats')
    expect(used).not.toContain('cmdstat_lpos:')
    expect(Number(/cmdstat_lrange:calls=(\d+)/.exec(used)?.[1])).toBeLessThan(10)
  })

  it.each([
    ['was handed out', 'ats', false],
    ['was taken back', 'stc', false],
    ['was replaced', 'timestamp', false],
    ['did not move', 'other', true],
  ])(
    'removes a job only if it did not move while the lists were read: it %s',
    async (_, field, isRemoved) => {
      await add('job')
      const evaluate = (script: string, ...args: string[]) =>
        connection.eval(script, 1, queue.toKey('active'), queue.toKey(''), ...args)
      const found = (await evaluate(FIND_SUSPECTS, 'job')) as string[]
      await connection.hincrby(queue.toKey('job'), field, 1)
      expect(await evaluate(REMOVE_STRAYS, ...found)).toEqual(isRemoved ? ['0', 'job'] : ['1'])
      expect(await connection.exists(queue.toKey('job'))).toBe(isRemoved ? 0 : 1)
    },
  )
})
