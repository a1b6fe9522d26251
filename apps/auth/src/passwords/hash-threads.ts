import type { Worker } from 'node:worker_threads'
import { startThread } from '@signet/threads'
import type { BcryptChoice } from './bcrypt.js'
import type { HashCaller } from './hash-caller.js'
import type { HashAnswer, HashJob } from './hash-job.js'
import { HashQueue } from './hash-queue.js'
import { overCapacity } from './over-capacity.js'

/** The result of the job with this index. */
type Outcome = { index: number; result: string | true }
type Task = {
  jobs: readonly HashJob[]
  /** How many of its jobs have been done. */
  done: number
  caller: HashCaller
  resolve: (outcome: Outcome | null) => void
  reject: (reason: unknown) => void
}
type Thread = { worker: Worker | undefined; tasks: Task[] }

/** Each thread has one job that runs and one that waits, so it stays busy while the main thread does something else. */
const TASKS_PER_THREAD = 2

/**
 * Hashes and compares passwords in threads, and keeps the tasks that wait for one. A task is a list of comparisons, made one after the
 * other until one matches; between two of them it goes back to the queue. A right password needs only the first, so it never waits for
 * the second ones of wrong passwords (decision 0031).
 */
export class HashThreads {
  readonly #threads: Thread[]
  readonly #waiting: HashQueue<Task>
  #closed = false

  constructor(
    threads: number,
    maxQueue: number,
    private readonly bcrypt: BcryptChoice,
  ) {
    // One task waits in each thread, so the queue has room for fewer.
    this.#waiting = new HashQueue(maxQueue - threads * (TASKS_PER_THREAD - 1))
    this.#threads = Array.from({ length: threads }, () => ({ worker: undefined, tasks: [] }))
  }

  /**
   * The first answer that is not `false`, or null if there is none. Rejects if the queue is full, or if the caller leaves before the first
   * comparison. If the caller leaves later, the remaining jobs count as `false`: a password that was compared is a guess and must be
   * counted.
   */
  run(jobs: readonly HashJob[], caller: HashCaller): Promise<Outcome | null> {
    const { signal } = caller
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error)
      const giveUp = () => {
        if (!this.#waiting.remove(task)) return
        if (task.done === 0) reject(signal?.reason as Error)
        else resolve(null)
      }
      const task: Task = {
        jobs,
        done: 0,
        caller,
        resolve(outcome) {
          signal?.removeEventListener('abort', giveUp)
          resolve(outcome)
        },
        reject,
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      this.#waiting.push(task)
      this.#assign()
      this.#waiting.takeExcess()?.reject(overCapacity())
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(this.#threads.map(async ({ worker }) => worker?.terminate()))
    for (const task of this.#waiting.drain()) task.reject(new Error('the threads are closed'))
  }

  #assign(): void {
    for (;;) {
      const [thread] = this.#threads.toSorted((one, other) => one.tasks.length - other.tasks.length)
      if (!thread || thread.tasks.length >= TASKS_PER_THREAD) return
      const task = this.#waiting.shift()
      const job = task?.jobs[task.done]
      if (!task || !job) return
      thread.tasks.push(task)
      // Start the worker only when it has a job. Many processes never hash, and a worker that fails to start must not be restarted in a
      // loop.
      thread.worker ??= this.#start(thread)
      thread.worker.ref()
      thread.worker.postMessage(job)
    }
  }

  #settle(task: Task, answer: HashAnswer): void {
    if ('error' in answer) return task.reject(answer.error)
    const { result } = answer
    if (result !== false) return task.resolve({ index: task.done, result })
    task.done += 1
    if (task.done === task.jobs.length || task.caller.signal?.aborted) return task.resolve(null)
    this.#waiting.push(task)
  }

  #start(thread: Thread): Worker {
    const worker = startThread(import.meta.url, 'hash-worker', {
      workerData: { bcrypt: this.bcrypt },
      resourceLimits,
    })
    worker.on('message', (answer: HashAnswer) => {
      const task = thread.tasks.shift()
      if (thread.tasks.length === 0) worker.unref()
      if (task) this.#settle(task, answer)
      this.#assign()
    })
    let failure: unknown = new Error('the thread ended')
    worker.on('error', (error) => (failure = error))
    worker.on('exit', () => {
      thread.worker = undefined
      for (const task of thread.tasks.splice(0)) task.reject(failure)
      if (!this.#closed) this.#assign()
    })
    // An idle thread must not keep the process alive. Adding a listener for its messages would, so this comes last.
    worker.unref()
    return worker
  }
}

// Hashing allocates hardly anything in JavaScript. By default, each thread would reserve much more.
const resourceLimits = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 32 }
