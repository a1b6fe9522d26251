/** The groups that an item belongs to, from the widest to the narrowest. No path may be the beginning of another. */
export type GroupPath = readonly string[]

/**
 * Waiting items in nested groups, such as the networks of their senders. The groups of each level take turns, so a sender that has many
 * narrow groups inside one wide group gets only the turns of that one. Within the narrowest group: first come, first served.
 *
 * Each operation takes time in proportion to the length of a path; `remove` also searches its group.
 */
export class FairTree<Item> {
  readonly #root = new Group<Item>('')

  get size(): number {
    return this.#root.size
  }

  push(path: GroupPath, item: Item): void {
    this.#root.size += 1
    let group = this.#root
    for (const key of path) group = group.grow(key)
    group.items.push(item)
  }

  /** Takes the item whose turn it is. */
  shift(): Item | undefined {
    return this.#descend((group) => group.next()).items.shift()
  }

  /**
   * Follows the largest group of each level and takes the newest item at the end. If several groups are equally large, it follows the
   * one that reached that size last.
   */
  takeFromLargest(): Item | undefined {
    return this.#descend((group) => group.largest()).items.pop()
  }

  /** Returns false if there is no such item. */
  remove(path: GroupPath, item: Item): boolean {
    let end: Group<Item> | undefined = this.#root
    for (const key of path) end = end?.members.get(key)
    const position = end?.items.indexOf(item) ?? -1
    if (position === -1) return false
    const members = path.values()
    this.#descend((group) => group.members.get(members.next().value ?? '')).items.splice(position, 1)
    return true
  }

  /** Returns the group at the end of the path that `choose` takes, and reduces the size of every group on the path by one. */
  #descend(choose: (group: Group<Item>) => Group<Item> | undefined): Group<Item> {
    let group = this.#root
    group.size = Math.max(0, group.size - 1)
    for (let member = choose(group); member !== undefined; member = choose(group)) {
      group.shrink(member)
      group = member
    }
    return group
  }
}

class Group<Item> {
  /** How many items are in the group and below it. */
  size = 0
  /** Not empty only at the end of a path. */
  readonly items: Item[] = []
  /** In the order in which members get their next turn. */
  readonly members = new Map<string, Group<Item>>()
  /** For each size, the member that reached it last. The other members of that size are linked to it, so no search is necessary. */
  readonly #latest = new Map<number, Group<Item>>()
  #largestSize = 0
  #before: Group<Item> | undefined
  #after: Group<Item> | undefined

  constructor(private readonly key: string) {}

  /** Returns the member with its size increased by one, and creates it if necessary. */
  grow(key: string): Group<Item> {
    const known = this.members.get(key)
    const member = known ?? new Group<Item>(key)
    if (known === undefined) this.members.set(key, member)
    this.#resize(member, member.size + 1)
    return member
  }

  shrink(member: Group<Item>): void {
    this.#resize(member, member.size - 1)
    if (member.size === 0) this.members.delete(member.key)
  }

  /** Returns the member whose turn it is, and moves it behind the others. */
  next(): Group<Item> | undefined {
    const [member] = this.members.values()
    if (member === undefined) return undefined
    this.members.delete(member.key)
    this.members.set(member.key, member)
    return member
  }

  largest(): Group<Item> | undefined {
    return this.#latest.get(this.#largestSize)
  }

  #resize(member: Group<Item>, size: number): void {
    this.#unlink(member)
    member.size = size
    if (size > 0) this.#link(member)
    // Sizes change by one, so when the only largest member shrinks, its new size is the largest.
    if (size > this.#largestSize || !this.#latest.has(this.#largestSize)) this.#largestSize = size
  }

  #link(member: Group<Item>): void {
    const before = this.#latest.get(member.size)
    member.#before = before
    if (before !== undefined) before.#after = member
    this.#latest.set(member.size, member)
  }

  #unlink(member: Group<Item>): void {
    const [before, after] = [member.#before, member.#after]
    if (before !== undefined) before.#after = after
    if (after !== undefined) after.#before = before
    else if (before !== undefined) this.#latest.set(member.size, before)
    else if (this.#latest.get(member.size) === member) this.#latest.delete(member.size)
    member.#before = undefined
    member.#after = undefined
  }
}
