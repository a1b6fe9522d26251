/**
 * A discrete-event clock: what is due first happens first. If two are due at the same moment, the one that was scheduled first happens
 * first.
 */
export class Clock {
  now = 0
  readonly #heap: { at: number; order: number; act: () => void }[] = []
  #asked = 0

  after(ms: number, act: () => void): void {
    this.#asked += 1
    this.#push({ at: this.now + ms, order: this.#asked, act })
  }

  /** Runs until no event is left. */
  run(): void {
    for (let next = this.#pop(); next; next = this.#pop()) {
      this.now = next.at
      next.act()
    }
  }

  #push(entry: { at: number; order: number; act: () => void }): void {
    const heap = this.#heap
    let index = heap.push(entry) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!this.#isBefore(index, parent)) return
      this.#swap(index, parent)
      index = parent
    }
  }

  #pop() {
    const heap = this.#heap
    const [first] = heap
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    heap[0] = last
    for (let index = 0; ;) {
      let least = index
      for (const child of [2 * index + 1, 2 * index + 2])
        if (child < heap.length && this.#isBefore(child, least)) least = child
      if (least === index) return first
      this.#swap(index, least)
      index = least
    }
  }

  #isBefore(a: number, b: number): boolean {
    const [one, other] = [this.#heap[a], this.#heap[b]]
    if (!one || !other) return false
    return one.at < other.at || (one.at === other.at && one.order < other.order)
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#heap[a], this.#heap[b]]
    if (!one || !other) return
    this.#heap[a] = other
    this.#heap[b] = one
  }
}

/** mulberry32, which produces the same numbers in every run. */
export function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
