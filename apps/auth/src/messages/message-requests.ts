import type { KeyObject } from 'node:crypto'
import type { Tx } from '@signet/db'
import type { AppError } from '@signet/errors'
import type { Address } from '../addresses/address.js'
import { tooSoon } from '../errors/auth-error.js'
import type { Client } from '../requests/request-meta.js'
import { keyedHash } from '../secrets/derived-keys.js'
import type { MessageRequestStore } from './message-request-store.js'

type Deps = { store: MessageRequestStore; key: KeyObject; now: () => Date }

export type MessageRequest = {
  /** What is requested; each kind has its own interval. */
  clock: 'confirmation' | 'recovery' | 'magic_link' | 'email_change' | 'phone_change'
  /** The address that the request named. */
  address: Address
  /** The channel of the message, which does not always go to that address. */
  via: Address['kind']
  intervalMs: number
}

/**
 * Enforces the shortest time between two messages to an address. It applies to every address, with or without an account, so that a 429
 * reveals nothing about accounts. It applies to each client separately, so that a stranger's request, for which perhaps nothing was sent,
 * does not make the owner wait.
 */
export class MessageRequests {
  constructor(private readonly deps: Deps) {}

  /** Stamps the request, or returns the error if it comes too soon after the last one. */
  async refusal(
    tx: Tx,
    { clock, address, via, intervalMs }: MessageRequest,
    client: Client,
  ): Promise<AppError | null> {
    if (intervalMs === 0) return null
    const { store, key, now } = this.deps
    const at = now()
    // A keyed hash, so that the table does not become a list of addresses that strangers entered.
    const from = client.shared ? '' : client.key
    const id = keyedHash(key, 'message request', clock, address.kind, address.value, from)
    if (await store.stamp(tx, id, new Date(at.getTime() - intervalMs), at)) return null
    const lastAsked = (await store.lastAsked(tx, id)) ?? at
    return tooSoon(
      via === 'email' ? 'over_email_send_rate_limit' : 'over_sms_send_rate_limit',
      lastAsked.getTime() + intervalMs - at.getTime(),
    )
  }
}
