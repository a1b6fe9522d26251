import { getPriority, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { loadBcrypt, type Bcrypt, type BcryptChoice } from './bcrypt.js'
import { compare } from './compare.js'
import type { HashAnswer, HashJob } from './hash-job.js'

/**
 * The priority of these threads, as a nice level. It is below that of the event loop, so that other requests stay fast while every core
 * hashes. It is not far below, because any other busy program on the machine would then stop all sign-ins (decision 0253).
 */
const BELOW_THE_SERVICE = 5
const LOWEST = 19

// Only on Linux is this the priority of the calling thread; elsewhere it would slow the whole process.
if (process.platform === 'linux') setPriority(Math.min(getPriority() + BELOW_THE_SERVICE, LOWEST))

// The entry of the worker threads, which run one job at a time. It has no top-level await, because from source this file is loaded with
// require.
const loading = loadBcrypt((workerData as { bcrypt: BcryptChoice }).bcrypt)
let last: Promise<unknown> = loading
parentPort?.on('message', (job: HashJob) => {
  last = last.then(async () => parentPort?.postMessage(await answerTo(await loading, job)))
})

async function answerTo(bcrypt: Bcrypt, job: HashJob): Promise<HashAnswer> {
  try {
    // The libraries encode lone surrogates differently; U+FFFD makes them agree.
    const password = Buffer.from(job.password).toString()
    if (job.kind === 'hash') return { result: bcrypt.hash(password, job.cost) }
    return { result: await compare(bcrypt, job.comparison, password) }
  } catch (error) {
    return { error }
  }
}
