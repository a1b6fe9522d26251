import { FairQueue } from '@signet/db/fair-queue'
import type { HashCaller } from './hash-job.js'

type Waiting = {
  readonly caller: HashCaller
  /** How many of its comparisons have been made. */
  readonly done: number
}

/** Every second turn is for known networks, and every fourth for second comparisons, which so cannot wait for ever. */
const TURNS = ['second', 'known', 'strangers', 'known'] as const

/**
 * Tasks that wait for a thread, in three classes: those of networks that their account knows, those of strangers, and second
 * comparisons (decision 0031). Within each, networks take turns. A class that has its turn and nothing to do leaves it to the first
 * of the others in this order.
 */
export class HashQueue<Task extends Waiting> {
  readonly #known = new FairQueue<Task>()
  readonly #strangers = new FairQueue<Task>()
  readonly #second = new FairQueue<Task>()
  #turn = 0

  /** As many tasks of known networks may wait, and as many others. */
  constructor(private readonly maxWaiting: number) {}

  push(task: Task): void {
    this.#classOf(task).push(networkOf(task), task)
  }

  /** False if it does not wait here. */
  remove(task: Task): boolean {
    return this.#classOf(task).remove(networkOf(task), task)
  }

  shift(): Task | undefined {
    this.#turn = (this.#turn + 1) % TURNS.length
    const [known, strangers, second] = [this.#known, this.#strangers, this.#second]
    // Otherwise second comparisons, which are never refused, would leave no room for any other.
    const others = second.size > this.maxWaiting / 2 ? [second, strangers] : [strangers, second]
    const order = {
      known: [known, ...others],
      strangers: [...others, known],
      second: [second, known, strangers],
    }[TURNS[this.#turn] ?? 'known']
    return order.find(({ size }) => size > 0)?.shift()
  }

  /**
   * The task to refuse while too many wait: the newest of the network that has most, so that a flood refuses itself. Second
   * comparisons are not refused, because the first was a guess that has to count.
   */
  takeExcess(): Task | undefined {
    if (this.#known.size > this.maxWaiting) return this.#known.takeFromLongest()
    const others = this.#strangers.size + this.#second.size
    return others > this.maxWaiting ? this.#strangers.takeFromLongest() : undefined
  }

  /** Takes all. */
  drain(): Task[] {
    return [this.#known, this.#strangers, this.#second].flatMap((queue) => queue.take(() => 'take'))
  }

  #classOf({ done, caller }: Task): FairQueue<Task> {
    if (done > 0) return this.#second
    return caller.isKnown === true ? this.#known : this.#strangers
  }
}

const networkOf = ({ caller }: Waiting) => caller.client.key
