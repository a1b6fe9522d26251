import { brandOf } from '@signet/brand'
import type { AddressChangeRules } from '../account/address-changes.js'
import type { CaptchaConfig } from '../captcha/captcha-verifier.js'
import type { AuthConfig } from '../config/config.js'
import type { LinkConfig } from '../mail/confirmation-url.js'
import { mailKinds, noticeKinds, type MailKind, type NoticeKind } from '../mail/kinds.js'
import type { MailConfig } from '../mail/mail-config.js'
import type { CodeAttemptRules } from '../one-time-tokens/code-attempts.js'
import type { OneTimeTokenRules } from '../one-time-tokens/one-time-tokens.js'
import type { MailQuotas, Quotas, SendQuota, SendQuotaConfig } from '../quotas/send-quotas.js'
import type { SmsConfig, SmsGatewayConfig } from '../sms/sms-sender.js'

// The rules of messages and of the codes in them. All other rules are in part-settings.ts.

export function mailConfig(config: AuthConfig): MailConfig {
  const { smtpHost: host, smtpPort: port, smtpAdminEmail: adminEmail } = config
  const complete = host !== undefined && port !== undefined && adminEmail !== undefined
  return {
    siteUrl: config.siteUrl,
    brand: brandOf(config),
    secretMs: config.mailerOtpExp,
    smtp:
      config.emailEnabled && complete
        ? {
            host,
            port,
            adminEmail,
            user: config.smtpUser,
            pass: config.smtpPass,
            senderName: config.smtpSenderName,
          }
        : undefined,
    subjects: byKind((kind) => config[`mailSubject_${kind}`]),
    templates: byKind((kind) => config[`mailTemplate_${kind}`]),
    notices: new Set(noticeKinds.filter((kind) => config[`notice_${kind}`])),
    authorizedAddresses: config.emailAuthorizedAddresses,
    connections: config.outboxConcurrency,
    lifeMs: { secret: config.mailerOtpExp, notice: config.mailerNotificationsExp },
  }
}

function byKind(read: (kind: MailKind | NoticeKind) => string | undefined) {
  return Object.fromEntries([...mailKinds, ...noticeKinds].map((kind) => [kind, read(kind)]))
}

export const linkConfig = (config: AuthConfig): LinkConfig => ({
  apiExternalUrl: config.apiExternalUrl,
  urlPaths: {
    invite: config.urlPathInvite,
    confirmation: config.urlPathConfirmation,
    recovery: config.urlPathRecovery,
    emailChange: config.urlPathEmailChange,
  },
})

export const smsConfig = (config: AuthConfig, template: string): SmsConfig => ({
  template,
  timeoutMs: Math.min(config.outboxAttemptTimeout, 10_000),
  gateway: smsGateway(config),
})

function smsGateway(config: AuthConfig): SmsGatewayConfig | undefined {
  switch (config.smsProvider) {
    case 'twilio': {
      const {
        smsTwilioAccountSid: accountSid,
        smsTwilioAuthToken: authToken,
        smsTwilioMessageServiceSid: messageServiceSid,
      } = config
      if (!accountSid || !authToken || !messageServiceSid) return undefined
      return {
        provider: 'twilio',
        accountSid,
        authToken,
        messageServiceSid,
        contentSid: config.smsTwilioContentSid,
      }
    }
    case 'messagebird': {
      const { smsMessagebirdAccessKey: accessKey, smsMessagebirdOriginator: originator } = config
      return accessKey && originator ? { provider: 'messagebird', accessKey, originator } : undefined
    }
    case 'textlocal': {
      const { smsTextlocalApiKey: apiKey, smsTextlocalSender: sender } = config
      return apiKey && sender ? { provider: 'textlocal', apiKey, sender } : undefined
    }
    case 'vonage': {
      const { smsVonageApiKey: apiKey, smsVonageApiSecret: apiSecret, smsVonageFrom: from } = config
      return apiKey && apiSecret && from ? { provider: 'vonage', apiKey, apiSecret, from } : undefined
    }
    case undefined:
      return undefined
  }
}

export const captchaConfig = (config: AuthConfig): CaptchaConfig => ({
  enabled: config.captchaEnabled,
  provider: config.captchaProvider,
  secret: config.captchaSecret ?? '',
  timeoutMs: config.captchaTimeout,
})

export const sendQuotaConfig = (config: AuthConfig): SendQuotaConfig => ({
  mail: config.mailerAutoconfirm ? undefined : mailQuotas(config),
  sms: config.smsAutoconfirm ? undefined : smsQuotas(config),
})

function mailQuotas(config: AuthConfig): MailQuotas {
  const total = config.rateLimitEmailSent
  return {
    total,
    perRecipient: config.rateLimitEmailSentPerRecipient,
    perClient: config.rateLimitEmailSentPerClient ?? halfOf(total),
    reservePercent: config.rateLimitEmailSentReserve,
    sharePercent: config.rateLimitEmailSentReserveShare,
  }
}

function smsQuotas(config: AuthConfig): Quotas {
  const total = config.rateLimitSmsSent
  return {
    total,
    perRecipient: config.rateLimitSmsSentPerRecipient,
    perClient: config.rateLimitSmsSentPerClient ?? halfOf(total),
  }
}

const halfOf = ({ amount, everyMs }: SendQuota): SendQuota => ({
  amount: Math.ceil(amount / 2),
  everyMs: everyMs === undefined ? undefined : everyMs * 2,
})

export const oneTimeTokenRules = (config: AuthConfig): OneTimeTokenRules => ({
  mailOtpLength: config.mailerOtpLength,
  smsOtpLength: config.smsOtpLength,
  testOtps: config.smsTestOtp,
  testOtpsUntil: config.smsTestOtpValidUntil,
})

export const codeAttemptRules = (config: AuthConfig): CodeAttemptRules => ({
  max: config.codeMaxAttempts,
  windowMs: config.codeAttemptWindow,
  requesterMax: config.codeRequesterAttempts,
  requesters: config.codeRequesters,
  knownNetworks: config.knownNetworks,
  knownNetworkMs: config.knownNetworkRetention,
})

/** The shortest time between two confirmations that one client requests for one address, in milliseconds. */
export const intervalRules = (config: AuthConfig) => ({
  intervalMs: { email: config.smtpMaxFrequency, phone: config.smsMaxFrequency },
})

export const reauthenticationRules = (config: AuthConfig) => ({
  phoneEnabled: config.phoneEnabled,
  intervalMs: { email: config.mailerReauthenticationMaxFrequency, phone: config.smsMaxFrequency },
})

export const recoveryRules = (config: AuthConfig) => ({
  emailEnabled: config.emailEnabled,
  // The specification has two intervals for recovery; both are minimums (docs/specification.md#intervals).
  intervalMs: Math.max(config.smtpMaxFrequency, config.mailerMagicLinkMaxFrequency),
})

/** With autoconfirm, one confirmation completes a change (docs/specification.md#email-change). */
const isSecureEmailChange = (config: AuthConfig): boolean =>
  config.mailerSecureEmailChangeEnabled && !config.mailerAutoconfirm

export const resendRules = (config: AuthConfig) => ({
  intervalMs: {
    signup: config.smtpMaxFrequency,
    email_change: config.mailerEmailChangeMaxFrequency,
    sms: config.smsMaxFrequency,
    phone_change: config.smsMaxFrequency,
  },
  emailEnabled: config.emailEnabled,
  phoneEnabled: config.phoneEnabled,
  secureEmailChange: isSecureEmailChange(config),
})

export const addressChangeRules = (config: AuthConfig): AddressChangeRules => ({
  intervalMs: { email: config.mailerEmailChangeMaxFrequency, phone: config.smsMaxFrequency },
  autoconfirm: { email: config.mailerAutoconfirm, phone: config.smsAutoconfirm },
  secureEmailChange: isSecureEmailChange(config),
})
