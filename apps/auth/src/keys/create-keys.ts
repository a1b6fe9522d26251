import type { Db } from '@signet/db'
import type { AsymmetricAlgorithm } from '@signet/jwt'
import type { Observer } from '../observers/observer.js'
import { deriveKeys } from '../secrets/derived-keys.js'
import type { SigningKeyStore } from './signing-key-store.js'
import type { KeyRing } from './key-ring.js'
import { KeyMaterial } from './key-material.js'
import { LiveKeys } from './live-keys.js'
import { SigningKeyService, type KeyRules, type KeyServiceObserver } from './signing-key-service.js'

/** The settings that signing keys depend on, by their names in the settings table. */
export type SigningKeySettings = {
  readonly jwtSecret: string
  readonly jwtKeys: unknown
  readonly jwtSigningAlgorithm: AsymmetricAlgorithm | 'HS256'
  readonly jwtValidMethods: readonly string[]
  readonly jwtExp: number
  readonly jwtKeyActivationDelay: number
}

type Parts<O> = { config: SigningKeySettings; db: Db; store: SigningKeyStore; observer: O; now: () => Date }
type LiveParts = Parts<Observer> & {
  config: { readonly jwtKeysRefreshInterval: number }
  /** The keys from the settings. */
  configured: KeyRing
}

/** Reads and changes the signing keys shared by all processes. */
export function createKeyService({
  config,
  db,
  store,
  observer,
  now,
}: Parts<KeyServiceObserver>): SigningKeyService {
  const material = new KeyMaterial(deriveKeys(config.jwtSecret).signingKeys)
  return new SigningKeyService({ db, store, material, rules: keyRules(config), observer, now })
}

/** The keys in the form that a running server uses. */
export function createLiveKeys(parts: LiveParts): LiveKeys {
  const { config, configured, observer, now } = parts
  const service = createKeyService(parts)
  return new LiveKeys({
    configured,
    service,
    intervalMs: config.jwtKeysRefreshInterval,
    observer,
    now,
  })
}

function keyRules(config: SigningKeySettings): KeyRules {
  const { jwtKeys, jwtSigningAlgorithm: algorithm, jwtKeyActivationDelay: delayMs, jwtExp } = config
  const common = { delayMs, tokenSeconds: Math.ceil(jwtExp / 1000), validMethods: config.jwtValidMethods }
  if (jwtKeys !== undefined) return { ...common, signsWith: 'configured_keys', algorithm: 'RS256' }
  if (algorithm === 'HS256') return { ...common, signsWith: 'secret', algorithm: 'RS256' }
  return { ...common, signsWith: 'own_keys', algorithm }
}
