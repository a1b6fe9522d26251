import {
  addressChangeRules,
  otpRules,
  recoveryRules,
  refreshRules,
  resendRules,
  signUpRules,
  verifyRules,
} from '../config/parts.js'
import { FlowService } from '../flows/flow-service.js'
import { OtpService } from '../otp/otp-service.js'
import { RecoveryService } from '../otp/recovery-service.js'
import { ResendService } from '../otp/resend-service.js'
import { AccessTokens } from '../sessions/access-tokens.js'
import { RefreshService } from '../sessions/refresh-service.js'
import { PasswordService } from '../sign-in/password-service.js'
import { SignUpService } from '../sign-up/sign-up-service.js'
import { VerifyEffects } from '../verify/verify-effects.js'
import { VerifyService } from '../verify/verify-service.js'
import { type Foundation } from './foundation.js'
import { type Parts } from './parts.js'

/** Signing up and in (contract 1.4 to 1.12). */
export function createSignInServices(parts: Parts, foundation: Foundation) {
  const { config, db, events, mailer, hasher, keys, now, stores } = parts
  const { users, flows } = stores
  const {
    derived,
    audit,
    confirmations,
    hashes,
    issuer,
    messages,
    unsent,
    refreshTokens,
    sessions,
    registration,
    sessionEnds,
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
      refreshTokens,
      audit,
      events,
      limits: sessionEnds,
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
      unsent,
      audit,
      hasher,
      rules: otpRules(config),
    }),
    recoveries: new RecoveryService({
      db,
      users,
      issuer,
      messages,
      unsent,
      audit,
      rules: recoveryRules(config),
    }),
    resends: new ResendService({
      db,
      users,
      tokens: stores.tokens,
      issuer,
      messages,
      unsent,
      audit,
      rules: resendRules(config),
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
  }
}
