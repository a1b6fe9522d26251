import { brandSettings } from '@signet/brand'
import { type ConfigOf, defineSettings } from '@signet/config'
import { accountSettings } from './account-settings.js'
import { guessSettings } from './guess-settings.js'
import { keySettings } from './key-settings.js'
import { limitSettings } from './limit-settings.js'
import { messageSettings } from './message-settings.js'
import { providerSettings } from './provider-settings.js'
import { serverSettings } from './server-settings.js'
import { telemetrySettings } from './telemetry-settings.js'
import { uiSettings } from './ui-settings.js'
import { webauthnSettings } from './webauthn-settings.js'
import { KeyRing } from '../keys/key-ring.js'

/** Every variable of docs/specification.md#configuration. Durations are milliseconds. */
export const settings = defineSettings({
  ...serverSettings,
  ...telemetrySettings,
  ...accountSettings,
  ...keySettings,
  ...messageSettings,
  ...limitSettings,
  ...guessSettings,
  ...providerSettings,
  ...uiSettings,
  ...webauthnSettings,
  ...brandSettings('AUTH'),
})
export type AuthConfig = ConfigOf<typeof settings>

/** The keys from the settings: the secret, and the keys in AUTH_JWT_KEYS. */
export function createKeyRing(config: AuthConfig): KeyRing {
  return KeyRing.create({
    secret: config.jwtSecret,
    keyId: config.jwtKeyId,
    keys: config.jwtKeys,
    validMethods: config.jwtValidMethods,
    signingAlgorithm: config.jwtSigningAlgorithm,
  })
}
