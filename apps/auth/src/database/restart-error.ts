import type { Tx } from '@signet/db'

/** Makes a transaction start again. `prepare` is called with the new transaction before it does anything else. */
export class RestartError extends Error {
  override name = 'RestartError'

  constructor(readonly prepare: (tx: Tx) => void = () => undefined) {
    super('the transaction has to begin again')
  }
}
