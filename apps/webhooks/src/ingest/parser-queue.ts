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

  get size(): number {
    return this.#tasks.size
  }

  push(task: Task): void {
    this.#tasks.push(shareOf(task), task)
  }

  shift(): Task | null {
    return this.#tasks.shift() ?? null
  }

  remove(task: Task): void {
    this.#tasks.remove(shareOf(task), task)
  }
}
