import type { Tx } from '@signet/db'
import type { User } from '../users/user.js'
import type { Issued, OneTimeTokens, TokenPurpose } from './one-time-tokens.js'

export type TokenRequest = TokenPurpose & {
  /** The shortest time since the last message of this slot; 0 for none. */
  intervalMs: number
}

type Deps = { tokens: OneTimeTokens }

/** Checks the interval and issues the token, for every endpoint that sends a secret. */
export class TokenIssuer {
  constructor(private readonly deps: Deps) {}

  /** The user's row must be locked, so the second of two concurrent requests sees the first one's stamp. */
  issue(tx: Tx, user: User, { intervalMs, ...purpose }: TokenRequest): Promise<Issued> {
    const { tokens } = this.deps
    tokens.checkInterval(user, purpose.slot, purpose.address.kind, intervalMs)
    return tokens.issue(tx, user, purpose)
  }
}
