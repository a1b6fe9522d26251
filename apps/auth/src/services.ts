import { type Db } from '@signet/db'
import { type KeyRing } from '@signet/jwt'
import { AddressChanges } from './account/address-changes.js'
import { PasswordChanges } from './account/password-change.js'
import { ReauthenticationService } from './account/reauthentication-service.js'
import { UserUpdateService } from './account/user-update-service.js'
import { AdminUserService } from './admin/admin-user-service.js'
import { AuditListService } from './admin/audit-list-service.js'
import { LinkService } from './admin/link-service.js'
import { UserRemovalService } from './admin/user-removal-service.js'
import { AuditLog } from './audit/audit-log.js'
import { CleanupService } from './cleanup/cleanup-service.js'
import {
  addressChangeRules,
  cleanupRules,
  factorRules,
  intervalRules,
  linkConfig,
  oneTimeTokenRules,
  otpRules,
  passwordChangeRules,
  recoveryRules,
  refreshRules,
  registrationRules,
  resendRules,
  sessionLimits,
  signUpRules,
  verifyRules,
} from './config/parts.js'
import { type AuthConfig } from './config.js'
import { type Events } from './events.js'
import { AdminFactorService } from './factors/admin-factor-service.js'
import { ChallengeService } from './factors/challenge-service.js'
import { EnrollmentService } from './factors/enrollment-service.js'
import { FlowService } from './flows/flow-service.js'
import { InviteService } from './invite/invite-service.js'
import { type Mailer } from './mail/mailer.js'
import { TokenHashes } from './one-time-tokens/one-time-token.js'
import { OneTimeTokens } from './one-time-tokens/one-time-tokens.js'
import { SecretMessages } from './one-time-tokens/secret-messages.js'
import { TokenIssuer } from './one-time-tokens/token-issuer.js'
import { OtpService } from './otp/otp-service.js'
import { RecoveryService } from './otp/recovery-service.js'
import { ResendService } from './otp/resend-service.js'
import { type Outbound } from './outbound/outbound.js'
import { type PasswordHasher } from './passwords/password-hasher.js'
import { createProviderServices } from './providers/services.js'
import { deriveKeys } from './secrets/derived-keys.js'
import { AccessTokens } from './sessions/access-tokens.js'
import { RefreshService } from './sessions/refresh-service.js'
import { RefreshTokens } from './sessions/refresh-token.js'
import { SessionService } from './sessions/session-service.js'
import { PasswordService } from './sign-in/password-service.js'
import { RegistrationService } from './sign-up/registration.js'
import { SignUpService } from './sign-up/sign-up-service.js'
import { UserFactory } from './sign-up/user-factory.js'
import { type SmsSender } from './sms/sms-sender.js'
import { type Stores } from './stores.js'
import { Confirmations } from './users/confirmations.js'
import { VerifyEffects } from './verify/verify-effects.js'
import { VerifyService } from './verify/verify-service.js'

type Parts = {
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
  outbound: Outbound
  now: () => Date
}

/** Everything between routes and stores. */
export function createServices(parts: Parts) {
  const { config, db, stores, keys, events, mailer, sms, factorSms, hasher, outbound, now } = parts
  const { users, identities, flows, factors, levels } = stores
  const derived = deriveKeys(config.jwtSecret)
  const audited = !config.auditLogDisablePostgres
  const audit = new AuditLog({ db, store: stores.audit, events, now, stored: audited })
  const confirmations = new Confirmations({ users, identities, now })

  const hashes = new TokenHashes(derived.oneTimeTokens)
  const rules = oneTimeTokenRules(config)
  const tokens = new OneTimeTokens({ db, store: stores.tokens, users, hashes, rules, now })
  const issuer = new TokenIssuer({ tokens, flows, now })
  const messages = new SecretMessages({ mailer, sms, tokens, links: linkConfig(config) })

  const limits = sessionLimits(config)
  const refreshTokens = new RefreshTokens(derived.refreshTokens)
  const sessions = new SessionService({ db, sessions: stores.sessions, refreshTokens, audit, limits, now })
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

  const external = createProviderServices({
    config,
    db,
    stores,
    outbound,
    audit,
    mailer,
    sessions,
    confirmations,
    issuer,
    messages,
    hashes,
    keys: derived,
    now,
  })

  return {
    ...external,
    pageKey: derived.pages,
    audit,
    sessions,
    accessTokens: new AccessTokens({
      keys,
      issuer: config.jwtIssuer ?? config.apiExternalUrl,
      lifeSeconds: Math.floor(config.jwtExp / 1000),
      lowAalMs: config.sessionsAllowLowAal,
    }),
    refresh: new RefreshService({
      db,
      store: stores.refresh,
      refreshTokens,
      audit,
      events,
      limits,
      ...refreshRules(config),
      audited,
      now,
    }),
    signUps: new SignUpService({
      registration,
      sessions,
      users,
      audit,
      hasher,
      rules: signUpRules(config),
      now,
    }),
    passwords: new PasswordService({ db, users, sessions, hasher, rules: signUpRules(config), now }),
    otps: new OtpService({
      db,
      users,
      registration,
      issuer,
      messages,
      audit,
      hasher,
      rules: otpRules(config),
    }),
    recoveries: new RecoveryService({ db, users, issuer, messages, audit, rules: recoveryRules(config) }),
    resends: new ResendService({
      db,
      users,
      tokens: stores.tokens,
      issuer,
      messages,
      audit,
      rules: resendRules(config),
    }),
    reauthentications: new ReauthenticationService({
      users,
      issuer,
      messages,
      audit,
      rules: intervalRules(config),
    }),
    flowExchanges: new FlowService({
      db,
      users,
      flows,
      sessions,
      audit,
      encryption: derived.encryption,
      codeLifeMs: config.flowStateExpiryDuration,
      now,
    }),
    verifications: new VerifyService({
      users,
      flows,
      tokens: stores.tokens,
      hashes,
      effects: new VerifyEffects({
        users,
        confirmations,
        tokens: stores.tokens,
        mailer,
        secureEmailChange: addressChangeRules(config).secureEmailChange,
        now,
      }),
      sessions,
      audit,
      hasher,
      rules: verifyRules(config),
      now,
    }),
    userUpdates: new UserUpdateService({
      db,
      users,
      sessions: stores.sessions,
      tokens: stores.tokens,
      passwords: new PasswordChanges({
        db,
        tokens: stores.tokens,
        hashes,
        sessions: stores.sessions,
        hasher,
        rules: passwordChangeRules(config),
        now,
      }),
      addresses,
      audit,
      mailer,
      rules: { smsProvider: config.smsProvider },
      now,
    }),
    adminUsers: new AdminUserService({
      db,
      users,
      lists: stores.userLists,
      identities,
      sessions: stores.sessions,
      confirmations,
      audit,
      hasher,
      rules: { role: config.jwtDefaultGroupName, passwords: signUpRules(config).passwords },
      now,
    }),
    userRemovals: new UserRemovalService({
      users,
      identities,
      sessions: stores.sessions,
      tokens: stores.tokens,
      audit,
      now,
    }),
    enrollments: new EnrollmentService({
      users,
      factors,
      levels,
      audit,
      mailer,
      encryption: derived.encryption,
      rules: factorRules(config),
      now,
    }),
    challenges: new ChallengeService({
      db,
      users,
      sessions: stores.sessions,
      factors,
      challenges: stores.challenges,
      levels,
      refreshTokens,
      audit,
      mailer,
      sms: factorSms,
      testOtpOf: (address) => tokens.testOtpOf(address),
      keys: { encryption: derived.encryption, codes: derived.oneTimeTokens },
      rules: factorRules(config),
      now,
    }),
    adminFactors: new AdminFactorService({ users, factors, levels, audit, mailer, now }),
    auditLists: new AuditListService({ db, entries: stores.auditLists }),
    links: new LinkService({
      db,
      users,
      factory,
      issuer,
      messages,
      audit,
      hasher,
      rules: {
        passwords: signUpRules(config).passwords,
        secureEmailChange: config.mailerSecureEmailChangeEnabled,
      },
      now,
    }),
    invites: new InviteService({ users, factory, issuer, messages, audit, now }),
    cleanup: new CleanupService({ db, store: stores.cleanup, events, rules: cleanupRules(config), now }),
  }
}
