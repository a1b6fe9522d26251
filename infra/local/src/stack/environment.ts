import { type LocalSecrets, serviceRoleToken, sha256Hex } from './secrets.js'

/** The addresses of everything. Other services of the operator publish at `internal`. `inbox` also has the pages of the receiver. */
export type StackAddresses = Record<
  'auth' | 'webhooks' | 'internal' | 'dispatcher' | 'inbox' | 'smtp' | 'receiver' | 'postgres' | 'redis',
  string
>

interface EnvironmentInput {
  addresses: StackAddresses
  secrets: LocalSecrets
  /** File with the certificate of the local authority, for the dispatcher to trust. */
  authorityFile?: string
  /** If omitted, the real schedule of minutes. */
  retryDelaysSeconds?: string
}

type Variables = Readonly<Record<string, string>>
export type ServiceName = 'auth' | 'webhooks' | 'dispatcher'

export const DATABASES = { auth: 'signet_auth', webhooks: 'signet_webhooks' } as const
const HOST = '127.0.0.1'
/** Every start runs the walk-through, which sends an email and registers a client, so hourly limits would stop it. */
const PLENTY = '1000'

/** All settings of the three services on a developer's machine. */
export function serviceEnvironments(input: EnvironmentInput): Record<ServiceName, Variables> {
  const { addresses, secrets, authorityFile, retryDelaysSeconds } = input
  const { auth, webhooks, internal, dispatcher, smtp, postgres, redis } = addresses
  const databaseUrl = (name: string) => Object.assign(new URL(postgres), { pathname: name }).href
  const common = { NODE_ENV: 'development' }
  const shared = {
    ...common,
    WEBHOOKS_BASE_URL: webhooks,
    WEBHOOKS_DATABASE_URL: databaseUrl(DATABASES.webhooks),
    WEBHOOKS_REDIS_URL: redis,
    WEBHOOKS_SECRET_KEYS: `local:${secrets.encryptionKey}`,
    // The receiver of this stack is on the same machine. The setting is rejected if NODE_ENV is production.
    WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true',
  }
  return {
    auth: {
      ...common,
      AUTH_API_HOST: HOST,
      PORT: portOf(auth),
      AUTH_API_EXTERNAL_URL: auth,
      // There is no load balancer in front that must stop sending requests first.
      AUTH_API_DRAIN_DURATION: '0',
      // Where people land after following a link in an email.
      AUTH_SITE_URL: webhooks,
      AUTH_PASSKEY_ENABLED: 'true',
      AUTH_MFA_WEB_AUTHN_ENROLL_ENABLED: 'true',
      AUTH_MFA_WEB_AUTHN_VERIFY_ENABLED: 'true',
      AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'Signet',
      // An application that is being developed may be on any port of this machine.
      AUTH_URI_ALLOW_LIST: `${webhooks}/sign-in/callback*,http://localhost:*/**,http://127.0.0.1:*/**`,
      AUTH_DB_DRIVER: 'postgres',
      DATABASE_URL: databaseUrl(DATABASES.auth),
      AUTH_JWT_SECRET: secrets.jwtSecret,
      AUTH_SMTP_HOST: HOST,
      AUTH_SMTP_PORT: portOf(smtp),
      AUTH_SMTP_ADMIN_EMAIL: 'no-reply@signet.test',
      AUTH_SMTP_SENDER_NAME: 'Signet',
      AUTH_SMTP_MAX_FREQUENCY: '60s',
      AUTH_RATE_LIMIT_EMAIL_SENT: PLENTY,
      AUTH_EVENTS_URL: `${internal}/internal/v1/account-events`,
      AUTH_EVENTS_SECRET: secrets.eventsSecret,
    },
    webhooks: {
      ...shared,
      WEBHOOKS_HOST: HOST,
      WEBHOOKS_PORT: portOf(webhooks),
      WEBHOOKS_DRAIN_SECONDS: '0',
      WEBHOOKS_INTERNAL_PORT: portOf(internal),
      WEBHOOKS_IDENTITY_URL: auth,
      WEBHOOKS_IDENTITY_EVENTS_SECRETS: secrets.eventsSecret,
      WEBHOOKS_IDENTITY_SERVICE_TOKEN: serviceRoleToken(secrets.jwtSecret),
      WEBHOOKS_SMTP_HOST: HOST,
      WEBHOOKS_SMTP_PORT: portOf(smtp),
      WEBHOOKS_SMTP_ADMIN_EMAIL: 'no-reply@signet.test',
      WEBHOOKS_SMTP_SENDER_NAME: 'Signet',
      WEBHOOKS_RATE_LIMIT_REGISTER: PLENTY,
      WEBHOOKS_INTERNAL_TOKENS: `recorder:${sha256Hex(secrets.internalToken)}`,
    },
    dispatcher: {
      ...shared,
      DISPATCHER_HOST: HOST,
      DISPATCHER_PORT: portOf(dispatcher),
      DISPATCHER_ADMIN_TOKEN: secrets.adminToken,
      ...(authorityFile && { NODE_EXTRA_CA_CERTS: authorityFile }),
      ...(retryDelaysSeconds && { DISPATCHER_RETRY_DELAYS_SECONDS: retryDelaysSeconds }),
    },
  }
}

const portOf = (url: string): string => new URL(url).port
