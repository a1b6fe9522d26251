import type { Queryable } from '@signet/db'
import type { OneTimeTokenStore, StoredToken } from '../../one-time-tokens/one-time-token-store.js'
import { slotsOf } from '../../verify/verify-request.js'

type Deps = {
  tokens: OneTimeTokenStore
  /** Lifetime of an emailed link. */
  lifeMs: number
  now: () => Date
}

/** Invitations that may still be accepted, by the token of their link. */
export class Invitations {
  constructor(private readonly deps: Deps) {}

  async find(db: Queryable, tokenHash: Buffer): Promise<StoredToken | null> {
    const { tokens, lifeMs, now } = this.deps
    const found = await tokens.findByLink(db, tokenHash, slotsOf.invite)
    const isOpen = found !== null && found.createdAt.getTime() + lifeMs > now().getTime()
    return isOpen ? found : null
  }
}
