import { type KeyObject } from 'node:crypto'
import { type Queryable } from '@signet/db'
import { type Address } from '../addresses/address.js'
import { tooSoon } from '../errors/auth-error.js'
import { type Mailer } from '../mail/mailer.js'
import { type GlobalLimit } from '../rate-limits/rate-limits.js'
import { type RequestMeta } from '../requests/request-meta.js'
import { keyedHash } from '../secrets/derived-keys.js'
import { type Slot } from './one-time-token.js'
import { type UnsentMessageStore } from './unsent-message-store.js'

type Deps = {
  db: Queryable
  store: UnsentMessageStore
  key: KeyObject
  mailer: Pick<Mailer, 'refuse'>
  limits: { mail: GlobalLimit; sms: GlobalLimit }
  now: () => Date
}

export type UnsentMessage = {
  slot: Slot
  /** What the request named. */
  address: Address
  aud: string
  /** How the message would have gone out, which is not always to the address that the request named. */
  via: Address['kind']
  intervalMs: number
}

/**
 * Messages that were asked for and have nobody to go to. They have intervals and quotas like those that are sent, or
 * the 429 of the second request would tell who has an account (contract 14.1).
 */
export class UnsentMessages {
  constructor(private readonly deps: Deps) {}

  /** Refuses what would be refused for a user whose last message of this kind was the last request for this address. */
  async ask({ slot, address, aud, via, intervalMs }: UnsentMessage, meta: RequestMeta): Promise<void> {
    const { db, store, key, mailer, limits, now } = this.deps
    if (via === 'email' && address.kind === 'email') mailer.refuse(address.value)
    const at = now()
    if (intervalMs > 0) {
      // The address itself is nobody's business here: strangers leave no list of names behind.
      const id = keyedHash(key, 'unsent', slot, aud, address.kind, address.value)
      if (!(await store.stamp(db, id, new Date(at.getTime() - intervalMs), at))) {
        const lastAsked = (await store.lastAsked(db, id)) ?? at
        throw tooSoon(
          via === 'email' ? 'over_email_send_rate_limit' : 'over_sms_send_rate_limit',
          lastAsked.getTime() + intervalMs - at.getTime(),
        )
      }
    }
    await limits[via === 'email' ? 'mail' : 'sms'].check(meta)
  }
}
