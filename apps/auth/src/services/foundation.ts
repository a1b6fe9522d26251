import { AddressChanges } from '../account/address-changes.js'
import { AccountRequests } from '../account-requests/account-requests.js'
import { AuditLog } from '../audit/audit-log.js'
import {
  addressChangeRules,
  codeAttemptRules,
  linkConfig,
  mailConfig,
  oneTimeTokenRules,
} from './message-settings.js'
import { guessRules, registrationRules, sessionLimits } from './part-settings.js'
import { CodeAttempts } from '../one-time-tokens/code-attempts.js'
import { TokenHashes } from '../one-time-tokens/one-time-token.js'
import { AuditedGuesses } from './audited-guesses.js'
import { FailedProofs } from '../failed-proofs/failed-proofs.js'
import { FactorCodes } from '../factors/factor-codes.js'
import { Mailer } from '../mail/mailer.js'
import { Outbox } from '../outbox/outbox.js'
import { OneTimeTokens } from '../one-time-tokens/one-time-tokens.js'
import { SecretMessages } from '../messages/secret-messages.js'
import { TokenIssuer } from '../one-time-tokens/token-issuer.js'
import { AddressHolders } from '../proofs/address-holders.js'
import { AddressProofs } from '../proofs/address-proofs.js'
import { deriveKeys } from '../secrets/derived-keys.js'
import { RefreshTokens } from '../sessions/refresh-token.js'
import { SessionEnds } from '../sessions/session-ends.js'
import { SessionGate } from '../sessions/session-gate.js'
import { SessionService } from '../sessions/session-service.js'
import { RegistrationService } from '../sign-up/registration.js'
import { UserFactory } from '../sign-up/user-factory.js'
import { SmsMessages } from '../sms/sms-messages.js'
import { VouchedSignUps } from '../sign-up/vouched-sign-ups.js'
import { MessageRequests } from '../messages/message-requests.js'
import type { Parts } from './parts.js'

export type Foundation = ReturnType<typeof createFoundation>

/** Dependencies shared by several services. */
export function createFoundation(parts: Parts) {
  const { config, db, stores, observer, now } = parts
  const { users, identities } = stores
  const derived = deriveKeys(config.jwtSecret)
  const audited = !config.auditLogDisablePostgres
  const audit = new AuditLog({ db, store: stores.audit, observer, now, stored: audited })
  const outbox = new Outbox({ store: stores.outbox, keys: derived, now })
  const mailer = new Mailer({ config: mailConfig(config), outbox, observer, now })
  const sms = new SmsMessages({ sender: parts.smsSender, outbox, lifeMs: config.smsOtpExp, now })
  const factorCodes = new FactorCodes({ sender: parts.factorSmsSender, outbox, now })

  const hashes = new TokenHashes(derived.oneTimeTokens)
  const rules = oneTimeTokenRules(config)
  const { pendingSignUps: signUps, pendingChanges: changes } = stores
  const tokens = new OneTimeTokens({ store: stores.tokens, signUps, users, changes, hashes, rules, now })
  const issuer = new TokenIssuer({ tokens })
  const attempts = new CodeAttempts({
    store: stores.codeAttempts,
    key: derived.oneTimeTokens,
    rules: codeAttemptRules(config),
    now,
  })
  const messages = new SecretMessages({
    mailer,
    sms,
    tokens,
    quotas: parts.quotas,
    attempts,
    db,
    links: linkConfig(config),
  })

  const failed = new FailedProofs({ users, store: stores.codeAttempts, key: derived.guesses, now })
  const guesses = new AuditedGuesses({
    db,
    failed,
    audit,
    store: stores.guesses,
    failures: parts.limits.failedSignIns,
    key: derived.guesses,
    hashes,
    rules: guessRules(config),
    now,
  })
  const limits = sessionLimits(config)
  const refreshTokens = new RefreshTokens(derived.refreshTokens)
  const ends = new SessionEnds({
    store: stores.sessionEnds,
    flows: stores.flows,
    changes,
    accountEvents: stores.accountEvents,
    now,
  })
  const holders = new AddressHolders({ users, identities, signUps, tokens: stores.tokens, now })
  const proofs = new AddressProofs({
    users,
    holders,
    identities,
    signUps,
    tokens: stores.tokens,
    ends,
    audience: config.jwtAud,
    now,
  })
  const gate = new SessionGate({ db, users, sessions: stores.sessions, limits, now })
  const sessions = new SessionService({
    db,
    sessions: stores.sessions,
    bounds: stores.sessionBounds,
    ends,
    gate,
    users,
    refreshTokens,
    audit,
    limits,
    knownNetworks: config.knownNetworks,
    now,
  })
  const factory = new UserFactory({ users, identities, role: config.jwtDefaultGroupName, now })
  const requests = new MessageRequests({ store: stores.messageRequests, key: derived.oneTimeTokens, now })
  const accountRequests = new AccountRequests({
    db,
    outbox,
    messages,
    requests,
    lifeMs: config.apiAccountRequestExp,
    pauseMs: parts.requestPauseMs,
    now,
  })
  const registration = new RegistrationService({
    db,
    factory,
    signUps,
    repeatedSignUps: stores.repeatedSignUps,
    proofs,
    tokens,
    hashes,
    requests,
    messages,
    mailer,
    audit,
    rules: registrationRules(config),
    now,
  })
  const vouched = new VouchedSignUps({ users, factory, signUps, holders, issuer, now })
  const addresses = new AddressChanges({
    users,
    changes,
    holders,
    proofs,
    issuer,
    messages,
    rules: addressChangeRules(config),
    now,
  })

  return {
    derived,
    audited,
    audit,
    outbox,
    mailer,
    factorCodes,
    hashes,
    tokens,
    issuer,
    messages,
    requests,
    accountRequests,
    guesses,
    failed,
    limits,
    refreshTokens,
    ends,
    gate,
    sessions,
    attempts,
    holders,
    proofs,
    vouched,
    registration,
    addresses,
  }
}
