import { jest } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import type { TestServer } from './server.js'

export type HeldTransactions = {
  /** Resolves once all of them are about to begin; later ones begin at once. */
  reached(): Promise<unknown>
  release(): void
}

/**
 * Holds the next `count` transactions of a server before they begin. By then, their requests have made every decision that comes before.
 */
export function holdTransactions({ context: { db } }: TestServer, count: number): HeldTransactions {
  const begin = db.transaction.bind(db)
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  let held = 0
  const spy = jest.spyOn(db, 'transaction').mockImplementation(async (work) => {
    if (held < count) {
      held += 1
      await opened
    }
    return begin(work)
  })
  return {
    reached: () => waitFor(() => held === count),
    release() {
      spy.mockRestore()
      open()
    },
  }
}
