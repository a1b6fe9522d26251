import { FairTree } from '@signet/db/fair-tree'
import { networkPath } from '@signet/rate-limits/network-path'
import type { HashCaller } from './hash-caller.js'

type Waiting = {
  readonly caller: HashCaller
  /** How many of its hashes have been compared already. */
  readonly done: number
}

/** Every second turn is for known callers. Every fourth is for second comparisons, so that they do not wait forever. */
const TURNS = ['second', 'known', 'strangers', 'known'] as const

/**
 * Tasks that wait for a thread (decision 0031), in three classes: passwords of known callers, passwords of strangers, and second
 * comparisons. Within a class, networks take turns, the widest first. If the class whose turn it is has no task, the next of the others in
 * this order that has one takes the turn.
 */
export class HashQueue<Task extends Waiting> {
  readonly #known = new FairTree<Task>()
  readonly #strangers = new FairTree<Task>()
  readonly #second = new FairTree<Task>()
  #turn = 0

  /** At most `maxWaiting` tasks of known callers may wait, and as many others. */
  constructor(private readonly maxWaiting: number) {}

  push(task: Task): void {
    this.#classOf(task).push(pathOf(task), task)
  }

  /** Returns false if the task does not wait here. */
  remove(task: Task): boolean {
    return this.#classOf(task).remove(pathOf(task), task)
  }

  shift(): Task | undefined {
    this.#turn = (this.#turn + 1) % TURNS.length
    const [known, strangers, second] = [this.#known, this.#strangers, this.#second]
    // Second comparisons are never refused. If they always came last, they would leave no room for other tasks.
    const others = second.size > this.maxWaiting / 2 ? [second, strangers] : [strangers, second]
    const order = {
      known: [known, ...others],
      strangers: [...others, known],
      second: [second, known, strangers],
    }[TURNS[this.#turn] ?? 'known']
    return order.find(({ size }) => size > 0)?.shift()
  }

  /**
   * The task to refuse when too many are waiting: the newest one of the network that has most, so that a client that floods the queue is
   * refused first. Second comparisons are never refused, because the first one was a guess that has to be counted.
   */
  takeExcess(): Task | undefined {
    if (this.#known.size > this.maxWaiting) return this.#known.takeFromLargest()
    const others = this.#strangers.size + this.#second.size
    return others > this.maxWaiting ? this.#strangers.takeFromLargest() : undefined
  }

  /** Removes and returns all tasks. */
  drain(): Task[] {
    const tasks: Task[] = []
    for (let task = this.shift(); task !== undefined; task = this.shift()) tasks.push(task)
    return tasks
  }

  #classOf({ done, caller }: Task): FairTree<Task> {
    if (done > 0) return this.#second
    return caller.isKnown ? this.#known : this.#strangers
  }
}

const pathOf = ({ caller }: Waiting) => networkPath(caller.client)
