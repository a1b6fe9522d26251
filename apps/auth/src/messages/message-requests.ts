import { type KeyObject } from 'node:crypto'
import { type Tx } from '@signet/db'
import { type AppError } from '@signet/errors'
import { type Address } from '../addresses/address.js'
import { tooSoon } from '../errors/auth-error.js'
import { keyedHash } from '../secrets/derived-keys.js'
import { type MessageRequestStore } from './message-request-store.js'

type Deps = { store: MessageRequestStore; key: KeyObject; now: () => Date }

export type MessageRequest = {
  /** What is asked for: each has an interval of its own. */
  clock: 'confirmation' | 'recovery' | 'email_change' | 'phone_change'
  /** What the request named. */
  address: Address
  /** How the message would go out, which is not always to the address that the request named. */
  via: Address['kind']
  intervalMs: number
}

/**
 * The intervals of requests that name an address. They are kept for the address, whether or not somebody has it, so the
 * 429 of the second request says nothing about an account.
 */
export class MessageRequests {
  constructor(private readonly deps: Deps) {}

  /** Stamps the request; or returns the refusal of one that comes too soon after the last one. */
  async refusal(tx: Tx, { clock, address, via, intervalMs }: MessageRequest): Promise<AppError | null> {
    if (intervalMs === 0) return null
    const { store, key, now } = this.deps
    const at = now()
    // The address itself is nobody's business here: strangers leave no list of names behind.
    const id = keyedHash(key, 'message request', clock, address.kind, address.value)
    if (await store.stamp(tx, id, new Date(at.getTime() - intervalMs), at)) return null
    const lastAsked = (await store.lastAsked(tx, id)) ?? at
    return tooSoon(
      via === 'email' ? 'over_email_send_rate_limit' : 'over_sms_send_rate_limit',
      lastAsked.getTime() + intervalMs - at.getTime(),
    )
  }
}
