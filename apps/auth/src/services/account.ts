import { AccountDeletionService } from '../account/account-deletion-service.js'
import { AccountOverviewService } from '../account/account-overview-service.js'
import { PasswordChanges } from '../account/password-change.js'
import { RecentProofs } from '../account/recent-proofs.js'
import { ReauthenticationService } from '../account/reauthentication-service.js'
import { UserUpdateService } from '../account/user-update-service.js'
import { reauthenticationRules } from './message-settings.js'
import { deletionRules, factorRules, passwordChangeRules, relyingPartyRules } from './part-settings.js'
import { ChallengeService } from '../factors/challenge-service.js'
import { WebauthnFactors } from '../factors/webauthn-factors.js'
import { RelyingParty } from '../webauthn/relying-party.js'
import { EnrollmentService } from '../factors/enrollment-service.js'
import { RecoveryCodeService } from '../factors/recovery-code-service.js'
import type { Foundation } from './foundation.js'
import type { Parts } from './parts.js'

export type AccountServices = ReturnType<typeof createAccountServices>

/**
 * Creates what users need for their account and its second factors (docs/specification.md#the-signed-in-user,
 * docs/specification.md#reauthentication and docs/specification.md#factors).
 */
export function createAccountServices(parts: Parts, foundation: Foundation) {
  const { config, db, hasher, now, databaseNow, observer, quotas, stores } = parts
  const { users, factors, levels } = stores
  const {
    derived,
    mailer,
    audit,
    guesses,
    failed,
    attempts,
    hashes,
    tokens,
    issuer,
    messages,
    addresses,
    sessions,
    gate,
    ends,
  } = foundation
  const passwords = new PasswordChanges({
    db,
    tokens: stores.tokens,
    attempts,
    hashes,
    sessions: stores.sessions,
    guesses,
    failed,
    audit,
    hasher,
    rules: passwordChangeRules(config),
    now,
  })
  const recentProofs = new RecentProofs({
    db,
    sessions: stores.sessions,
    credentials: stores.credentials,
    now,
  })
  return {
    overviews: new AccountOverviewService({
      db,
      users,
      lists: stores.sessionLists,
      entries: stores.auditLists,
      recoveryCodes: stores.recoveryCodes,
      credentials: stores.credentials,
      gate,
      ends,
      audit,
      limits: foundation.limits,
      now,
    }),
    deletions: new AccountDeletionService({
      db,
      bounds: stores.sessionBounds,
      users,
      tokens: stores.tokens,
      gate,
      ends,
      guesses,
      passwords,
      hasher,
      audit,
      mailer,
      rules: deletionRules(config),
      now,
      databaseNow,
    }),
    recentProofs,
    reauthentications: new ReauthenticationService({
      users,
      gate,
      issuer,
      messages,
      audit,
      rules: reauthenticationRules(config),
    }),
    userUpdates: new UserUpdateService({
      users,
      changes: stores.pendingChanges,
      sessions: stores.sessions,
      gate,
      ends,
      tokens: stores.tokens,
      passwords,
      recentProofs,
      addresses,
      audit,
      mailer,
      rules: {
        smsProvider: config.smsProvider,
        phoneEnabled: config.phoneEnabled,
        adminRoles: config.jwtAdminRoles,
      },
      now,
    }),
    enrollments: new EnrollmentService({
      gate,
      factors,
      levels,
      audit,
      mailer,
      encryption: derived.encryption,
      rules: factorRules(config),
      now,
    }),
    recoveryCodes: new RecoveryCodeService({
      db,
      store: stores.recoveryCodes,
      sessions,
      gate,
      ends,
      levels,
      guesses,
      failed,
      audit,
      mailer,
      key: derived.oneTimeTokens,
      now,
    }),
    challenges: new ChallengeService({
      db,
      sessions,
      gate,
      ends,
      factors,
      challenges: stores.challenges,
      levels,
      audit,
      mailer,
      observer,
      codes: foundation.factorCodes,
      webauthn: new WebauthnFactors({
        db,
        credentials: stores.credentials,
        relyingParty: new RelyingParty(relyingPartyRules(config)),
        key: derived.challenges,
        now,
      }),
      quotas,
      guesses,
      failed,
      testOtpOf: (address) => tokens.testOtpOf(address),
      keys: { encryption: derived.encryption, codes: derived.oneTimeTokens },
      requireRecentProof: (live) => recentProofs.requireOfHandedOver(live),
      rules: factorRules(config),
      now,
    }),
  }
}
