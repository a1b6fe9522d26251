import { FairQueue } from '@signet/db'
import { queueOptionsSymbol } from 'piscina'

/** A job of the thread pool, which carries whom it is for. */
type Task = { readonly [queueOptionsSymbol]: object | null }

/** For a job of the pool: whose turn it waits for. */
export const ofShare = (share: string) => ({ [queueOptionsSymbol]: { share } })

const shareOf = (task: Task): string => (task[queueOptionsSymbol] as { share: string } | null)?.share ?? ''

/** What waits for a thread, by account in turn: one account's stream of large bodies delays another's by the job in hand. */
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
