import { randomUUID } from 'node:crypto'
import { type Tx } from '@signet/db'
import { type Address } from '../addresses/address.js'
import { type FlowStore, type MailMethod } from '../flows/flow-store.js'
import { type Challenge } from '../flows/pkce.js'
import { type User } from '../users/user.js'
import { type Slot } from './one-time-token.js'
import { type Issued, type OneTimeTokens } from './one-time-tokens.js'

export type TokenRequest = {
  slot: Slot
  address: Address
  /** Shortest time since the last message from this slot; 0 for none. */
  intervalMs: number
  /** With a challenge the link ends in a code for the flow of this method (contract 6). */
  challenge?: Challenge | null
  method?: MailMethod
}

type Deps = { tokens: OneTimeTokens; flows: FlowStore; now: () => Date }

/** Interval, token and flow: what every endpoint does before it sends a secret. */
export class TokenIssuer {
  constructor(private readonly deps: Deps) {}

  /** The user's row must be locked, so that of two requests at once the second one sees the first one's stamp. */
  async issue(tx: Tx, user: User, request: TokenRequest): Promise<Issued> {
    const { tokens, flows, now } = this.deps
    const { slot, address, challenge = null, method } = request
    tokens.checkInterval(user, slot, address.kind, request.intervalMs)
    const issued = await tokens.issue(tx, user, slot, address, { pkce: challenge !== null })
    if (challenge !== null && method !== undefined)
      await flows.insertMailFlow(tx, { id: randomUUID(), userId: user.id, challenge, method }, now())
    return issued
  }
}
