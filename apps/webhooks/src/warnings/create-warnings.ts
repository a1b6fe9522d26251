import { brandOf } from '@signet/brand'
import type { Db } from '@signet/db'
import { openSmtpTransport } from '@signet/mail'
import type { WebhooksConfig } from '../config/config.js'
import type { IdentityClient } from '../identity/identity-client.js'
import type { WebhookObserver } from '../observers/webhook-observer.js'
import { WarningService, WARNINGS_AT_ONCE } from './warning-service.js'

type Deps = { db: Db; identity: IdentityClient; webhookObserver: WebhookObserver }

/** Returns undefined if the operator wants no emails, or has no mail server. */
export function createWarnings(config: WebhooksConfig, deps: Deps): WarningService | undefined {
  const { smtpHost: host, smtpPort: port, smtpAdminEmail: adminEmail, baseUrl, manageUrl } = config
  if (!config.warningEmails || host === undefined || port === undefined || adminEmail === undefined)
    return undefined
  const smtp = {
    host,
    port,
    adminEmail,
    user: config.smtpUser,
    pass: config.smtpPass,
    senderName: config.smtpSenderName,
  }
  return new WarningService({
    ...deps,
    transport: openSmtpTransport(smtp, { connections: WARNINGS_AT_ONCE }),
    brand: brandOf(config),
    manageUrl: ({ endpointId }) => manageUrl ?? `${baseUrl}/portal/endpoints/${endpointId}`,
  })
}
