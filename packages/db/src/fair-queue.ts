/**
 * Waiting items, grouped by share, such as an account. Shares take turns, so that a thousand items of
 * one delay an item of another by one turn and not by a thousand. Within a share: first come, first served.
 */
export class FairQueue<Item> {
  /** In the order of the next turns. */
  readonly #queues = new Map<string, Item[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  push(share: string, item: Item): void {
    const queue = this.#queues.get(share)
    if (queue) queue.push(item)
    else this.#queues.set(share, [item])
    this.#size += 1
  }

  /** False if there is no such item. */
  remove(share: string, item: Item): boolean {
    const queue = this.#queues.get(share)
    const position = queue?.indexOf(item) ?? -1
    if (queue === undefined || position === -1) return false
    queue.splice(position, 1)
    if (queue.length === 0) this.#queues.delete(share)
    this.#size -= 1
    return true
  }

  /**
   * Takes items turn by turn: `choose` says for each whether it is taken, left where it is, or whether to stop before it.
   */
  take(choose: (item: Item) => 'take' | 'leave' | 'stop'): Item[] {
    const taken: Item[] = []
    const shares = [...this.#queues.keys()]
    const positions = new Map<string, number>()
    for (let turn = 0; turn < shares.length; turn += 1) {
      const share = shares[turn] as string
      const choice = this.#takeFor(share, positions.get(share) ?? 0, choose)
      if (choice === 'stop') break
      if (choice === null) continue
      taken.push(choice.item)
      positions.set(share, choice.position)
      shares.push(share)
    }
    this.#size -= taken.length
    return taken
  }

  /** Takes the next item in turn, skipping shares that may not have one now. */
  shift(isAllowed: (share: string) => boolean = () => true): Item | undefined {
    for (const [share, queue] of this.#queues) {
      if (!isAllowed(share)) continue
      const item = queue.shift()
      this.#size -= 1
      this.#queues.delete(share)
      // Behind all others: their turns come first next time.
      if (queue.length > 0) this.#queues.set(share, queue)
      return item
    }
    return undefined
  }

  /** One item of one share, from `start` on: items before it were left where they are. */
  #takeFor(
    share: string,
    start: number,
    choose: (item: Item) => 'take' | 'leave' | 'stop',
  ): { item: Item; position: number } | 'stop' | null {
    const queue = this.#queues.get(share) ?? []
    for (let position = start; position < queue.length; position += 1) {
      const item = queue[position] as Item
      const choice = choose(item)
      if (choice === 'stop') return 'stop'
      if (choice === 'leave') continue
      queue.splice(position, 1)
      this.#queues.delete(share)
      // Behind all others: their turns come first next time.
      if (queue.length > 0) this.#queues.set(share, queue)
      return { item, position }
    }
    return null
  }
}
