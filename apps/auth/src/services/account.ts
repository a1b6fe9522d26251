import { PasswordChanges } from '../account/password-change.js'
import { ReauthenticationService } from '../account/reauthentication-service.js'
import { UserUpdateService } from '../account/user-update-service.js'
import { factorRules, intervalRules, passwordChangeRules } from '../config/parts.js'
import { ChallengeService } from '../factors/challenge-service.js'
import { EnrollmentService } from '../factors/enrollment-service.js'
import { type Foundation } from './foundation.js'
import { type Parts } from './parts.js'

/** What users do with their account and its second factors (contract 1.13 to 1.15 and 1.20). */
export function createAccountServices(parts: Parts, foundation: Foundation) {
  const { config, db, mailer, factorSms, hasher, now, stores } = parts
  const { users, factors, levels } = stores
  const { derived, audit, hashes, tokens, issuer, messages, refreshTokens, addresses } = foundation
  return {
    reauthentications: new ReauthenticationService({
      users,
      issuer,
      messages,
      audit,
      rules: intervalRules(config),
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
  }
}
