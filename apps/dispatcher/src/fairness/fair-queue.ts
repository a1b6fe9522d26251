/**
 * A queue in which several keys take turns: first come, first served within a key, and a key with many items delays any other
 * by one item at a time.
 */
export class FairQueue<Item> {
  /** Keys in the order of their turns. */
  private readonly items = new Map<string, Item[]>()
  private count = 0

  get length(): number {
    return this.count
  }

  push(key: string, item: Item): void {
    const items = this.items.get(key)
    if (items) items.push(item)
    else this.items.set(key, [item])
    this.count += 1
  }

  shift(): Item | undefined {
    for (const [key, items] of this.items) {
      const item = items.shift()
      // Moved to the end: the key's next turn comes after those of all others.
      this.items.delete(key)
      if (items.length > 0) this.items.set(key, items)
      this.count -= 1
      return item
    }
    return undefined
  }

  /** The item of each key that has waited longest. */
  *heads(): Iterable<Item> {
    for (const [head] of this.items.values()) if (head !== undefined) yield head
  }
}
