import type { Tx } from '@signet/db'

/** The transaction has to begin again. `prepare` gets the next one before that does anything. */
export class RestartError extends Error {
  override name = 'RestartError'

  constructor(readonly prepare: (tx: Tx) => void = () => undefined) {
    super('the transaction has to begin again')
  }
}
