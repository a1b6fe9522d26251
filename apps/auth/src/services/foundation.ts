import { AddressChanges } from '../account/address-changes.js'
import { AuditLog } from '../audit/audit-log.js'
import {
  addressChangeRules,
  linkConfig,
  oneTimeTokenRules,
  registrationRules,
  sessionLimits,
} from '../config/parts.js'
import { TokenHashes } from '../one-time-tokens/one-time-token.js'
import { OneTimeTokens } from '../one-time-tokens/one-time-tokens.js'
import { SecretMessages } from '../one-time-tokens/secret-messages.js'
import { TokenIssuer } from '../one-time-tokens/token-issuer.js'
import { deriveKeys } from '../secrets/derived-keys.js'
import { RefreshTokens } from '../sessions/refresh-token.js'
import { SessionService } from '../sessions/session-service.js'
import { RegistrationService } from '../sign-up/registration.js'
import { UserFactory } from '../sign-up/user-factory.js'
import { Confirmations } from '../users/confirmations.js'
import { UnsentMessages } from '../one-time-tokens/unsent-messages.js'
import { type Parts } from './parts.js'

export type Foundation = ReturnType<typeof createFoundation>

/** What several services stand on. */
export function createFoundation(parts: Parts) {
  const { config, db, stores, events, mailer, sms, now } = parts
  const { users, identities, flows } = stores
  const derived = deriveKeys(config.jwtSecret)
  const audited = !config.auditLogDisablePostgres
  const audit = new AuditLog({ db, store: stores.audit, events, now, stored: audited })
  const confirmations = new Confirmations({ users, identities, now })

  const hashes = new TokenHashes(derived.oneTimeTokens)
  const rules = oneTimeTokenRules(config)
  const tokens = new OneTimeTokens({ db, store: stores.tokens, users, hashes, rules, now })
  const issuer = new TokenIssuer({ tokens, flows, now })
  const messages = new SecretMessages({ mailer, sms, tokens, links: linkConfig(config) })

  const unsent = new UnsentMessages({
    db,
    store: stores.unsentMessages,
    key: derived.oneTimeTokens,
    mailer,
    limits: parts.limits,
    now,
  })

  const sessionEnds = sessionLimits(config)
  const refreshTokens = new RefreshTokens(derived.refreshTokens)
  const sessions = new SessionService({
    db,
    sessions: stores.sessions,
    refreshTokens,
    audit,
    limits: sessionEnds,
    now,
  })
  const factory = new UserFactory({ users, identities, role: config.jwtDefaultGroupName, now })
  const registration = new RegistrationService({
    users,
    factory,
    confirmations,
    issuer,
    messages,
    audit,
    rules: registrationRules(config),
  })
  const addresses = new AddressChanges({
    users,
    confirmations,
    tokens,
    issuer,
    messages,
    rules: addressChangeRules(config),
    now,
  })

  return {
    derived,
    audited,
    audit,
    confirmations,
    hashes,
    tokens,
    issuer,
    messages,
    unsent,
    sessionEnds,
    refreshTokens,
    sessions,
    factory,
    registration,
    addresses,
  }
}
