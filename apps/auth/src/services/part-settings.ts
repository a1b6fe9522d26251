import type { EventTarget } from '../account-events/account-event-handler.js'
import type { DeletionRules } from '../account/account-deletion-service.js'
import type { PasswordChangeRules } from '../account/password-change.js'
import type { CleanupAges } from '../cleanup/cleanup-rules.js'
import type { OtpRules } from '../otp/otp-service.js'
import { tablePrefix } from '../database/tables.js'
import type { VerifyRules } from '../verify/verify-service.js'
import type { AuthConfig } from '../config/config.js'
import type { FactorRules } from '../factors/factor-rules.js'
import type { ClientAddressRules } from '../rate-limits/client-address.js'
import { providers, type Provider } from '../providers/definitions/index.js'
import type { ProviderSettings } from '../providers/model/provider.js'
import type { LinkingRules } from '../providers/linking/account-linking.js'
import type { IdTokenRules } from '../providers/id-token-service.js'
import type { RateLimitRules } from '../rate-limits/rate-limits.js'
import { forgottenAfterMs } from '../sign-in/guess-store.js'
import type { GuessRules } from '../sign-in/guesses.js'
import type { SessionLimits } from '../sessions/session.js'
import { passwordRules } from '../config/password-rules.js'
import { rpIdOf, rpOriginsOf } from '../config/webauthn-settings.js'
import type { RelyingPartyRules } from '../webauthn/relying-party.js'
import type { RegistrationRules } from '../sign-up/registration.js'
import type { SignUpRules } from '../sign-up/sign-up-service.js'

// Operators see one flat table of settings. These functions turn it into the rules of each part of the server.

/** The default audience is always allowed. */
export const allowedAudiences = (config: AuthConfig): readonly string[] => [
  config.jwtAud,
  ...config.jwtAllowedAudiences,
]

/** Time for outgoing calls within one request: the request's limit minus the time to answer (decision 0046). */
export const callBudgetMs = (requestMs: number): number => Math.max(requestMs - 1000, requestMs / 2)

export const rateLimitRules = (config: AuthConfig): RateLimitRules => ({
  burst: config.rateLimitBurst,
  tokenRefresh: config.rateLimitTokenRefresh,
  failedSignIns: config.rateLimitFailedSignIns,
  sharedAddressFactor: config.rateLimitSharedAddressFactor,
  verify: config.rateLimitVerify,
  otp: config.rateLimitOtp,
  anonymousUsers: config.rateLimitAnonymousUsers,
  mfaChallengeAndVerify: config.mfaRateLimitChallengeAndVerify,
  passkey: config.rateLimitPasskey,
})

export const guessRules = (config: AuthConfig): GuessRules => ({
  freeAttempts: config.signInAttempts,
  firstDelayMs: config.signInFirstDelay,
  maxDelayMs: config.signInMaxDelay,
  failureMs: config.signInFailureExp,
  knownNetworks: config.knownNetworks,
  knownNetworkMs: config.knownNetworkRetention,
})

export const clientAddressRules = (config: AuthConfig): ClientAddressRules => ({
  forwardedForEnabled: config.forwardedForEnabled,
  forwardedForHeader: config.forwardedForHeader,
  forwardedForHops: config.forwardedForHops,
  rateLimitHeader: config.rateLimitHeader,
})

export const sessionLimits = (config: AuthConfig): SessionLimits => ({
  timeboxMs: config.sessionsTimebox,
  inactivityMs: config.sessionsInactivityTimeout,
  lowAalMs: config.sessionsAllowLowAal,
  singlePerUser: config.sessionsSinglePerUser,
})

export const refreshRules = (config: AuthConfig) => ({
  rotation: config.refreshTokenRotationEnabled,
  reuseIntervalMs: config.refreshTokenReuseInterval,
})

export const registrationRules = (config: AuthConfig): RegistrationRules => ({
  autoconfirm: autoconfirmRules(config),
  intervalMs: { email: config.smtpMaxFrequency, phone: config.smsMaxFrequency },
  accountPages: accountPages(config),
  maxPending: config.pendingSignUps,
})

const autoconfirmRules = (config: AuthConfig) => ({
  email: config.mailerAutoconfirm,
  phone: config.smsAutoconfirm,
})

function accountPages({ uiEnabled, apiExternalUrl, siteUrl }: AuthConfig) {
  if (!uiEnabled) return { signIn: siteUrl, recovery: siteUrl }
  const page = `${apiExternalUrl.replace(/\/+$/, '')}/ui`
  return { signIn: page, recovery: `${page}/forgot` }
}

export const signUpRules = (config: AuthConfig): SignUpRules => ({
  disabled: config.disableSignup,
  emailEnabled: config.emailEnabled,
  phoneEnabled: config.phoneEnabled,
  anonymousEnabled: config.anonymousUsersEnabled,
  autoconfirm: autoconfirmRules(config),
  role: config.jwtDefaultGroupName,
  smsProvider: config.smsProvider,
  passwords: passwordRules(config),
})

export const otpRules = (config: AuthConfig): OtpRules => ({
  ...signUpRules(config),
  magicLinkEnabled: config.emailMagicLinkEnabled,
  magicLinkIntervalMs: config.mailerMagicLinkMaxFrequency,
  smsIntervalMs: config.smsMaxFrequency,
})

export const verifyRules = (config: AuthConfig): VerifyRules => ({
  mailTokenMs: config.mailerOtpExp,
  smsTokenMs: config.smsOtpExp,
  passwords: signUpRules(config).passwords,
})

export const passwordChangeRules = (config: AuthConfig): PasswordChangeRules => ({
  passwords: signUpRules(config).passwords,
  requireReauthentication: config.updatePasswordRequireReauthentication,
  reauthenticationGraceMs: config.reauthenticationGrace,
  requireCurrentPassword: config.updatePasswordRequireCurrentPassword,
  mailNonceMs: config.mailerOtpExp,
  smsNonceMs: config.smsOtpExp,
})

export const factorRules = (config: AuthConfig): FactorRules => ({
  enroll: {
    totp: config.mfaTotpEnrollEnabled,
    phone: config.mfaPhoneEnrollEnabled,
    webauthn: config.mfaWebauthnEnrollEnabled,
  },
  verify: {
    totp: config.mfaTotpVerifyEnabled,
    phone: config.mfaPhoneVerifyEnabled,
    webauthn: config.mfaWebauthnVerifyEnabled,
  },
  maxEnrolled: config.mfaMaxEnrolledFactors,
  maxVerified: config.mfaMaxVerifiedFactors,
  challengeMs: config.mfaChallengeExpiryDuration,
  smsIntervalMs: config.mfaPhoneMaxFrequency,
  otpLength: config.mfaPhoneOtpLength,
  smsProvider: config.smsProvider,
  siteHost: new URL(config.siteUrl).host,
})

export const relyingPartyRules = (config: AuthConfig): RelyingPartyRules => ({
  id: rpIdOf(config),
  name: config.webauthnRpDisplayName ?? rpIdOf(config),
  origins: rpOriginsOf(config),
  challengeMs: config.webauthnChallengeExpiryDuration,
})

export const externalProviders = (config: AuthConfig) =>
  Object.fromEntries(providers.map((name) => [name, providerSettings(config, name)])) as Record<
    Provider,
    ProviderSettings
  >

const providerSettings = (config: AuthConfig, name: Provider): ProviderSettings => ({
  enabled: config[`${name}_enabled`],
  clientIds: config[`${name}_clientId`],
  secret: config[`${name}_secret`] ?? '',
  redirectUri: config[`${name}_redirectUri`] ?? '',
  baseUrl: config[`${name}_url`],
  emailOptional: config[`${name}_emailOptional`],
  skipNonceCheck: config[`${name}_skipNonceCheck`] ?? false,
})

export const linkingRules = (config: AuthConfig): LinkingRules => ({
  autoconfirm: config.mailerAutoconfirm,
  allowUnverified: config.mailerAllowUnverifiedEmailSignIns,
  disableSignup: config.disableSignup,
  role: config.jwtDefaultGroupName,
})

export const idTokenRules = (config: AuthConfig): IdTokenRules => ({
  allowedIssuers: config.allowedIdTokenIssuers,
  iosBundleId: config.iosBundleId,
  siteUrl: config.siteUrl,
})

export const deletionRules = (config: AuthConfig): DeletionRules => ({
  graceMs: config.accountDeletionGrace,
  keepUrl: `${config.apiExternalUrl.replace(/\/+$/, '')}/ui/account`,
})

export const cleanupLockName = ({ dbNamespace }: AuthConfig): string =>
  `${tablePrefix(dbNamespace)}signet-auth-cleanup`

export const cleanupAges = (config: AuthConfig): CleanupAges => ({
  endedSessionMs: config.sessionsEndedRetention,
  guessesMs: forgottenAfterMs(config.signInAttempts, config.signInFailureExp),
  knownNetworkMs: config.knownNetworkRetention,
  anonymousUsers: config.dbCleanupAnonymousUsers && config.anonymousUsersEnabled,
  intervalMs: Math.max(
    config.smtpMaxFrequency,
    config.mailerMagicLinkMaxFrequency,
    config.mailerEmailChangeMaxFrequency,
    config.mailerReauthenticationMaxFrequency,
    config.smsMaxFrequency,
  ),
  auditMs: config.auditLogRetention,
  unconfirmedUserMs: config.unconfirmedUserRetention,
})

/** Null while account events are disabled. */
export const eventTarget = ({ eventsUrl: url, eventsSecret: key }: AuthConfig): EventTarget | null =>
  url === undefined || key === undefined ? null : { url, key }
