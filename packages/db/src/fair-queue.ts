/**
 * Waiting items, grouped by share, such as an account. Shares take turns, so a thousand items of one share delay an item of another by
 * one turn, not by a thousand. Within a share: first come, first served.
 */
export class FairQueue<Item> {
  /** In the order in which shares get their next turn. */
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

  /** Returns false if there is no such item. */
  remove(share: string, item: Item): boolean {
    const queue = this.#queues.get(share)
    const position = queue?.indexOf(item) ?? -1
    if (queue === undefined || position === -1) return false
    queue.splice(position, 1)
    if (queue.length === 0) this.#queues.delete(share)
    this.#size -= 1
    return true
  }

  /** Takes items, one per share and turn. `choose` decides whether to take an item, leave it in place, or stop before it. */
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

  /** Takes the item whose turn it is, skipping shares that may not have one now. */
  shift(isAllowed: (share: string) => boolean = () => true): Item | undefined {
    for (const [share, queue] of this.#queues) {
      if (!isAllowed(share)) continue
      const item = queue.shift()
      this.#size -= 1
      this.#queues.delete(share)
      // Moves the share behind all others, so that their turns come first.
      if (queue.length > 0) this.#queues.set(share, queue)
      return item
    }
    return undefined
  }

  /** Takes one item of a share, looking from `start` on: the items before it were left in place. */
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
      // Moves the share behind all others, so that their turns come first.
      if (queue.length > 0) this.#queues.set(share, queue)
      return { item, position }
    }
    return null
  }
}
