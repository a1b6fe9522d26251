import type { DatabaseClock, Db } from '@signet/db'
import type { AuthConfig } from '../config/config.js'
import type { Observer } from '../observers/observer.js'
import type { LiveKeys } from '../keys/live-keys.js'
import type { Outbound } from '../outbound/outbound.js'
import type { PasswordHasher } from '../passwords/password-hasher.js'
import type { SendQuotas } from '../quotas/send-quotas.js'
import type { SmsSender } from '../sms/sms-sender.js'
import type { Stores } from './stores.js'
import type { RateLimits } from '../rate-limits/rate-limits.js'

/** What the composition root opens and the services share. */
export type Parts = {
  config: AuthConfig
  db: Db
  stores: Stores
  keys: LiveKeys
  observer: Observer
  smsSender: SmsSender
  /** The same gateway, with the text for second factors. */
  factorSmsSender: SmsSender
  quotas: SendQuotas
  hasher: PasswordHasher
  limits: RateLimits
  outbound: Outbound
  requestPauseMs: () => number
  providerBudgetMs: number
  now: () => Date
  databaseNow: DatabaseClock
}
