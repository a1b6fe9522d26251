import type { Worker } from 'node:worker_threads'
import { startThread } from '@signet/threads'
import type { BcryptChoice } from './bcrypt.js'
import type { HashAnswer, HashJob } from './hash-job.js'

type Result = string | boolean
type Task = { job: HashJob; resolve: (result: Result) => void; reject: (reason: unknown) => void }
type Thread = { worker: Worker | undefined; tasks: Task[] }

/** One job runs and one waits in each thread, so the thread stays busy while the main thread does something else. */
const TASKS_PER_THREAD = 2

/**
 * Threads that hash, one job after the other, and the jobs that wait for them. A job whose signal is aborted while it
 * waits is dropped; one that a thread has started is finished (decision 0031).
 */
export class HashThreads {
  readonly #threads: Thread[]
  readonly #waiting = new Set<Task>()
  #closed = false

  constructor(
    threads: number,
    private readonly bcrypt: BcryptChoice,
  ) {
    this.#threads = Array.from({ length: threads }, () => ({ worker: undefined, tasks: [] }))
  }

  /** Unfinished jobs. */
  get pending(): number {
    return this.#threads.reduce((sum, { tasks }) => sum + tasks.length, this.#waiting.size)
  }

  run(job: HashJob, signal?: AbortSignal): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error)
      const giveUp = () => {
        if (this.#waiting.delete(task)) reject(signal?.reason as Error)
      }
      const task: Task = {
        job,
        resolve(result) {
          signal?.removeEventListener('abort', giveUp)
          resolve(result)
        },
        reject,
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      this.#waiting.add(task)
      this.#assign()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(this.#threads.map(async ({ worker }) => worker?.terminate()))
    for (const task of this.#waiting) task.reject(new Error('the threads are closed'))
    this.#waiting.clear()
  }

  #assign(): void {
    for (const task of this.#waiting) {
      const [thread] = this.#threads.toSorted((one, other) => one.tasks.length - other.tasks.length)
      if (!thread || thread.tasks.length >= TASKS_PER_THREAD) return
      this.#waiting.delete(task)
      thread.tasks.push(task)
      // Started only now: before its first job, because many processes hash nothing, and after a failure, because a worker that
      // cannot start must not be restarted in a loop.
      thread.worker ??= this.#start(thread)
      thread.worker.ref()
      thread.worker.postMessage(task.job)
    }
  }

  #start(thread: Thread): Worker {
    const worker = startThread(import.meta.url, 'hash-worker', {
      workerData: { bcrypt: this.bcrypt },
      resourceLimits,
    })
    worker.on('message', (answer: HashAnswer) => {
      const task = thread.tasks.shift()
      if (thread.tasks.length === 0) worker.unref()
      if ('error' in answer) task?.reject(answer.error)
      else task?.resolve(answer.result)
      this.#assign()
    })
    let failure: unknown = new Error('the thread ended')
    worker.on('error', (error) => (failure = error))
    worker.on('exit', () => {
      thread.worker = undefined
      for (const task of thread.tasks.splice(0)) task.reject(failure)
      if (!this.#closed) this.#assign()
    })
    // An idle thread does not keep the process alive. Listening to its messages would, so this comes last.
    worker.unref()
    return worker
  }
}

// Hashing allocates next to nothing in JavaScript; by default each thread keeps room for much more.
const resourceLimits = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 32 }
