import { route, type Route } from '@signet/http'
import type { AuthConfig } from '../config/config.js'
import type { LiveKeys } from '../keys/live-keys.js'
import { providers } from '../providers/definitions/index.js'
import { docs } from '../requests/docs.js'
import { service } from '../version.js'

/** Public information about this server (docs/specification.md#operation and docs/specification.md#requests). */
export function settingsRoutes({ config, keys }: { config: AuthConfig; keys: LiveKeys }): Route[] {
  const settings = settingsView(config)
  return [
    route({
      method: 'get',
      path: '/health',
      docs: docs('getHealth', 'Whether the process runs', {
        tag: 'Service',
        answer: { description: 'It does', schema: 'Health' },
      }),
      handle: () => ({
        body: { version: service.version, name: service.name, description: service.description },
      }),
    }),
    route({
      method: 'get',
      path: '/.well-known/jwks.json',
      docs: docs('getKeySet', 'Public keys of access tokens', {
        tag: 'Service',
        answer: { description: 'A JWK Set', schema: 'KeySet' },
      }),
      handle: async () => ({
        headers: { 'Cache-Control': `public, max-age=${Math.floor(config.jwtJwksMaxAge / 1000)}` },
        body: (await keys.forVerifying()).publicJwks(),
      }),
    }),
    route({
      method: 'get',
      path: '/settings',
      docs: docs('getSettings', 'Which sign-in methods are enabled', {
        tag: 'Service',
        answer: { description: 'The settings', schema: 'Settings' },
      }),
      handle: () => ({ body: settings }),
    }),
  ]
}

function settingsView(config: AuthConfig) {
  return {
    external: {
      ...Object.fromEntries(providers.map((name) => [name, config[`${name}_enabled`]])),
      email: config.emailEnabled,
      phone: config.phoneEnabled,
      anonymous_users: config.anonymousUsersEnabled,
    },
    disable_signup: config.disableSignup,
    autoconfirm: config.mailerAutoconfirm,
    mailer_autoconfirm: config.mailerAutoconfirm,
    phone_autoconfirm: config.smsAutoconfirm,
    sms_provider: config.smsProvider ?? '',
    saml_enabled: false,
    passkeys_enabled: config.passkeyEnabled,
  }
}
