import { type PresentedToken } from './refresh-token.js'

type Waiting<Item, Result> = {
  item: Item
  resolve: (result: Result | null) => void
  reject: (error: unknown) => void
}

const MAX_BATCH = 64
/** While this server works on the answers of one, PostgreSQL works on the other. */
const MAX_UNDER_WAY = 2

/**
 * Sends what comes while statements are under way together in the next one, so that a busy server spends one round trip
 * and one commit on many refreshes; one alone goes out at once. Two of one session never go together.
 */
export class RefreshBatches<Item extends { readonly presented: PresentedToken }, Result> {
  #waiting: Waiting<Item, Result>[] = []
  #underWay = 0

  /** `send` answers by session id; what it leaves out comes to null. */
  constructor(private readonly send: (items: readonly Item[]) => Promise<ReadonlyMap<string, Result>>) {}

  add(item: Item): Promise<Result | null> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      this.#next()
    })
  }

  #next(): void {
    if (this.#underWay === MAX_UNDER_WAY || this.#waiting.length === 0) return
    this.#underWay += 1
    void this.#run(this.#take()).finally(() => {
      this.#underWay -= 1
      this.#next()
    })
  }

  #take(): Map<string, Waiting<Item, Result>> {
    const batch = new Map<string, Waiting<Item, Result>>()
    const later: Waiting<Item, Result>[] = []
    for (const waiting of this.#waiting) {
      const { sessionId } = waiting.item.presented
      if (batch.size === MAX_BATCH || batch.has(sessionId)) later.push(waiting)
      else batch.set(sessionId, waiting)
    }
    this.#waiting = later
    return batch
  }

  async #run(batch: ReadonlyMap<string, Waiting<Item, Result>>): Promise<void> {
    const all = [...batch.values()]
    try {
      const results = await this.send(all.map(({ item }) => item))
      for (const [id, { resolve }] of batch) resolve(results.get(id) ?? null)
    } catch (error) {
      // Each is asked about alone then: what one of them broke must not fail the others.
      for (const { resolve, reject } of all)
        if (all.length === 1) reject(error)
        else resolve(null)
    }
  }
}
