import { FairQueue } from '@signet/db/fair-queue'
import { queueOptionsSymbol } from 'piscina'

/** A task of the thread pool, tagged with the account it is for. */
type Task = { readonly [queueOptionsSymbol]: object | null }

/** Tags a task of the pool with the account whose turn it waits for. */
export const ofShare = (share: string) => ({ [queueOptionsSymbol]: { share } })

const shareOf = (task: Task): string => (task[queueOptionsSymbol] as { share: string } | null)?.share ?? ''

/** Tasks that wait for a thread. Accounts take turns, so one account's stream of large bodies delays another's by one task. */
export class ParserQueue {
  readonly #tasks = new FairQueue<Task>()
  /** Came back because no thread was free for them. Theirs are the next turns. */
  readonly #returned: Task[] = []

  get size(): number {
    return this.#tasks.size + this.#returned.length
  }

  push(task: Task): void {
    this.#tasks.push(shareOf(task), task)
  }

  shift(): Task | null {
    return this.#returned.pop() ?? this.#tasks.shift() ?? null
  }

  /** The pool finds out that all threads are busy only after it has taken a task. Behind the others it would wait for all of them. */
  unshift(task: Task): void {
    this.#returned.push(task)
  }

  remove(task: Task): void {
    const position = this.#returned.indexOf(task)
    if (position === -1) this.#tasks.remove(shareOf(task), task)
    else this.#returned.splice(position, 1)
  }
}
