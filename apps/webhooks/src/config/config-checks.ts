import { rule, type Rule } from '@signet/config'
import { sharedRules } from '@signet/webhook-core/settings'
import type { WebhooksConfig } from './config.js'

const isProduction = ({ nodeEnv }: WebhooksConfig) => nodeEnv === 'production'

/** Emails require a mail server, a sender, and access to the addresses of accounts. */
const mailIsComplete: Rule<WebhooksConfig> = (config) => {
  const { smtpHost, smtpPort, smtpAdminEmail, warningEmails, identityServiceToken } = config
  const given = { WEBHOOKS_SMTP_PORT: smtpPort, WEBHOOKS_SMTP_ADMIN_EMAIL: smtpAdminEmail }
  const names = (isGiven: boolean) =>
    Object.entries(given).flatMap(([name, value]) => ((value !== undefined) === isGiven ? [name] : []))
  if (smtpHost === undefined)
    return names(true).map((name) => `${name} is set, but WEBHOOKS_SMTP_HOST is not: no emails would be sent`)
  const token = warningEmails && identityServiceToken === undefined ? ['WEBHOOKS_IDENTITY_SERVICE_TOKEN'] : []
  return [...names(false), ...token].map(
    (name) => `${name} is required with WEBHOOKS_SMTP_HOST: emails cannot be sent without it`,
  )
}

/** Rules across settings. */
export const configChecks: readonly Rule<WebhooksConfig>[] = [
  ...sharedRules,
  mailIsComplete,
  rule(
    (config) => isProduction(config) && !config.baseUrl.startsWith('https://'),
    'WEBHOOKS_BASE_URL must use https in production',
  ),
  rule(
    (config) => isProduction(config) && config.identityPublicUrl?.startsWith('http://') === true,
    'WEBHOOKS_IDENTITY_PUBLIC_URL must use https in production',
  ),
  rule(
    (config) => isProduction(config) && config.signInUrl?.startsWith('http://') === true,
    'WEBHOOKS_SIGN_IN_URL must use https in production',
  ),
  rule(
    (config) => config.port !== 0 && config.port === config.internalPort,
    'WEBHOOKS_PORT and WEBHOOKS_INTERNAL_PORT must differ: the internal API is never public',
  ),
]
