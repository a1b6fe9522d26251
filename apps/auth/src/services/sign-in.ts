import { addressChangeRules, recoveryRules, resendRules } from './message-settings.js'
import { otpRules, refreshRules, signUpRules, verifyRules } from './part-settings.js'
import { FlowService } from '../code-exchange/flow-service.js'
import { OtpService } from '../otp/otp-service.js'
import { RecoveryService } from '../otp/recovery-service.js'
import { ResendService } from '../otp/resend-service.js'
import { AccessTokens } from '../sessions/access-tokens.js'
import { RefreshService } from '../sessions/refresh-service.js'
import { PasswordService } from '../sign-in/password-service.js'
import { SignUpService } from '../sign-up/sign-up-service.js'
import { TokenMatcher } from '../verify/token-matcher.js'
import { VerifyEffects } from '../verify/verify-effects.js'
import { VerifyService } from '../verify/verify-service.js'
import type { Foundation } from './foundation.js'
import type { Parts } from './parts.js'

/** Creates the services for signing up and signing in (docs/specification.md#sign-up and docs/specification.md#resend). */
export function createSignInServices(parts: Parts, foundation: Foundation) {
  const { config, db, observer, hasher, keys, now, stores } = parts
  const { users, flows } = stores
  const {
    derived,
    mailer,
    audit,
    attempts,
    proofs,
    hashes,
    issuer,
    messages,
    accountRequests,
    guesses,
    failed,
    refreshTokens,
    sessions,
    ends,
    registration,
    gate,
    limits,
    audited,
  } = foundation
  return {
    accessTokens: new AccessTokens({
      keys,
      issuer: config.jwtIssuer ?? config.apiExternalUrl,
      lifeSeconds: Math.floor(config.jwtExp / 1000),
      lowAalMs: config.sessionsAllowLowAal,
    }),
    refresh: new RefreshService({
      db,
      store: stores.refresh,
      users,
      ends,
      refreshTokens,
      audit,
      observer,
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
      idKey: derived.oneTimeTokens,
      now,
    }),
    passwords: new PasswordService({
      db,
      users,
      guesses,
      sessions,
      audit,
      hasher,
      rules: signUpRules(config),
      now,
    }),
    otps: new OtpService({
      db,
      users,
      registration,
      issuer,
      messages,
      accountRequests,
      audit,
      observer,
      rules: otpRules(config),
    }),
    recoveries: new RecoveryService({
      db,
      users,
      issuer,
      messages,
      accountRequests,
      audit,
      rules: recoveryRules(config),
    }),
    resends: new ResendService({
      db,
      users,
      signUps: stores.pendingSignUps,
      hashes,
      issuer,
      messages,
      accountRequests,
      audit,
      rules: resendRules(config),
    }),
    flowExchanges: new FlowService({
      db,
      users,
      flows,
      tokens: stores.tokens,
      sessions,
      gate,
      audit,
      observer,
      encryption: derived.encryption,
      codeLifeMs: config.flowStateExpiryDuration,
      now,
    }),
    verifications: new VerifyService({
      db,
      flows,
      signUps: stores.pendingSignUps,
      matcher: new TokenMatcher({
        users,
        tokens: stores.tokens,
        attempts,
        hashes,
        rules: verifyRules(config),
        now,
      }),
      effects: new VerifyEffects({
        users,
        proofs,
        tokens: stores.tokens,
        mailer,
        secureEmailChange: addressChangeRules(config).secureEmailChange,
        now,
      }),
      sessions,
      failed,
      audit,
      hasher,
      rules: verifyRules(config),
      now,
    }),
  }
}
