import { type Db } from '@signet/db'
import { createKeyRing, type AuthConfig } from '../config.js'
import { type Events } from '../events.js'
import { deriveKeys } from '../secrets/derived-keys.js'
import { type SigningKeyStore } from './signing-key-store.js'
import { KeyMaterial } from './key-material.js'
import { LiveKeys } from './live-keys.js'
import { SigningKeyService, type KeyRules, type KeyServiceEvents } from './signing-key-service.js'

type Parts<E> = { config: AuthConfig; db: Db; store: SigningKeyStore; events: E; now: () => Date }

/** Looks at the keys of all processes, and changes them. */
export function createKeyService({
  config,
  db,
  store,
  events,
  now,
}: Parts<KeyServiceEvents>): SigningKeyService {
  const material = new KeyMaterial(deriveKeys(config.jwtSecret).signingKeys)
  return new SigningKeyService({ db, store, material, rules: keyRules(config), events, now })
}

/** The keys as a server uses them. */
export function createLiveKeys(parts: Parts<Events>): LiveKeys {
  const { config, events, now } = parts
  const service = createKeyService(parts)
  return new LiveKeys({
    configured: createKeyRing(config),
    service,
    intervalMs: config.jwtKeysRefreshInterval,
    events,
    now,
  })
}

function keyRules(config: AuthConfig): KeyRules {
  const { jwtKeys, jwtSigningAlgorithm: algorithm, jwtKeyActivationDelay: delayMs, jwtExp } = config
  const common = { delayMs, tokenSeconds: Math.ceil(jwtExp / 1000), validMethods: config.jwtValidMethods }
  if (jwtKeys !== undefined) return { ...common, signsWith: 'configured_keys', algorithm: 'RS256' }
  if (algorithm === 'HS256') return { ...common, signsWith: 'secret', algorithm: 'RS256' }
  return { ...common, signsWith: 'own_keys', algorithm }
}
