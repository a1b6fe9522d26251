import { type Db } from '@signet/db'
import { type KeyRing } from '@signet/jwt'
import { type AuthConfig } from '../config.js'
import { type Events } from '../events.js'
import { type Mailer } from '../mail/mailer.js'
import { type Outbound } from '../outbound/outbound.js'
import { type PasswordHasher } from '../passwords/password-hasher.js'
import { type SmsSender } from '../sms/sms-sender.js'
import { type Stores } from '../stores.js'
import { type RateLimits } from '../rate-limits/rate-limits.js'

/** What the composition root opens, and services share. */
export type Parts = {
  config: AuthConfig
  db: Db
  stores: Stores
  keys: KeyRing
  events: Events
  mailer: Mailer
  sms: SmsSender
  /** The same gateway, with the text for second factors. */
  factorSms: SmsSender
  hasher: PasswordHasher
  limits: RateLimits
  outbound: Outbound
  now: () => Date
}
