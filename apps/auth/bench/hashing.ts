import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { createPasswordHasher } from '../src/passwords/password-hasher.js'
import { PASSWORD } from './seed.js'

/**
 * Each thread checks the password again and again with the fastest implementation there is. At the same priority as the
 * service's own threads: whatever else the machine does takes as much from both.
 */
const LOOP = `
  import { getPriority, setPriority } from 'node:os'
  import { parentPort, workerData } from 'node:worker_threads'
  if (process.platform === 'linux') setPriority(Math.min(getPriority() + 5, 19))
  const { verifySync } = await import(workerData.module)
  parentPort.on('message', (seconds) => {
    const until = performance.now() + seconds * 1000
    let count = 0
    while (performance.now() < until) {
      if (!verifySync(workerData.password, workerData.hash)) throw new Error('wrong')
      count += 1
    }
    parentPort.postMessage(count)
  })`

/** What the cores of this machine can hash: the upper limit of sign-ins. */
export async function startRawHashing() {
  const hasher = createPasswordHasher({ threads: 1 })
  const workerData = {
    module: import.meta.resolve('@node-rs/bcrypt'),
    password: PASSWORD,
    hash: await hasher.hash(PASSWORD),
  }
  await hasher.close()
  const url = new URL(`data:text/javascript,${encodeURIComponent(LOOP)}`)
  const workers = Array.from(
    { length: availableParallelism() },
    () => new Worker(url, { workerData, execArgv: [] }),
  )
  return {
    /** Checks per second of all threads together. */
    async measure(seconds: number): Promise<number> {
      const counts = workers.map(
        (worker) =>
          new Promise<number>((resolve, reject) => {
            worker.once('message', resolve)
            worker.once('error', reject)
            worker.postMessage(seconds)
          }),
      )
      const startedAt = performance.now()
      const total = (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
      return total / ((performance.now() - startedAt) / 1000)
    },
    async stop() {
      await Promise.all(workers.map((worker) => worker.terminate()))
    },
  }
}
