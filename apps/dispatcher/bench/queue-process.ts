// BullMQ alone: each job carries an id and sends one signed POST. No database.
import { randomUUID } from 'node:crypto'
import { Queue, Worker } from 'bullmq'
import { connectRedis } from '@signet/redis'
import { workerOptions } from '../src/queues/queue-worker.js'
import { CONCURRENCY, serveRuns } from './sending.js'

serveRuns(async (ask, send) => {
  // Uses the product's connection and settings, so that the difference is the product's own work and not how it speaks to Redis.
  const connection = connectRedis({ url: ask.redisUrl }, 'worker')
  const prefix = `{bench-${randomUUID()}}`
  const queue = new Queue('posts', { connection, prefix })
  for (let from = 0; from < ask.posts; from += 1000) {
    const numbers = Array.from({ length: Math.min(1000, ask.posts - from) }, (_, index) => from + index)
    await queue.addBulk(
      numbers.map((number) => ({
        name: 'post',
        data: { number },
        opts: { jobId: `post_${number}`, removeOnComplete: true, removeOnFail: true },
      })),
    )
  }
  let done = 0
  let finish: () => void = () => undefined
  const finished = new Promise<void>((resolve) => (finish = resolve))
  const worker = new Worker<{ number: number }>('posts', ({ data }) => send(data.number), {
    ...workerOptions,
    connection,
    prefix,
    concurrency: CONCURRENCY,
  })
  worker.on('completed', () => {
    done += 1
    if (done === ask.posts) finish()
  })
  const startedAt = performance.now()
  void worker.run()
  await finished
  const perSecond = ask.posts / ((performance.now() - startedAt) / 1000)
  await worker.close()
  await queue.obliterate({ force: true })
  await queue.close()
  connection.disconnect()
  return perSecond
})
