import { isJwtAlgorithm, JWT_ALGORITHMS } from './algorithms.js'
import { type JwtHeader } from './compact-token.js'
import {
  checkKid,
  importJwk,
  importSecret,
  type NamedKey,
  type PublicJwk,
  type Report,
  toPublicJwk,
} from './jwk.js'
import { asksToSign, importJwkList, readJwkList } from './jwk-list.js'
import { JwtError } from './jwt-error.js'
import { keyForAlgorithm, type JwtKey, type KeySource } from './jwt-key.js'
import { KeyProblems } from './key-settings-error.js'

/** The key settings of an identity server as its operator wrote them; empty texts and lists count as unset. */
export type KeyRingSettings = {
  /** HS256 secret, used as its UTF-8 bytes. */
  readonly secret: string
  /** `kid` of the secret. */
  readonly keyId?: string
  /** JSON array of JWKs or JWK Set; the one with `sign` in its `key_ops` takes over signing from the secret. */
  readonly keys?: string
  /** The only algorithms accepted in tokens; by default those of all keys and HS256. */
  readonly validMethods?: readonly string[]
}

/** The body of `/.well-known/jwks.json`. */
export type PublicJwkSet = { readonly keys: readonly PublicJwk[] }

/** All keys of an identity server: one signs, all verify, the asymmetric ones are published. */
export class KeyRing implements KeySource {
  /** The key that signs new tokens. */
  readonly signingKey: JwtKey
  readonly #secretKey: JwtKey
  readonly #keys: ReadonlyMap<string, JwtKey>
  readonly #accepted: ReadonlySet<string>
  readonly #publicJwks: PublicJwkSet

  private constructor(secretKey: JwtKey, named: NamedKeys, validMethods: readonly string[]) {
    const { keys, signer } = named
    this.signingKey = signer ?? secretKey
    this.#secretKey = secretKey
    this.#keys = secretKey.kid === undefined ? keys : new Map([[secretKey.kid, secretKey], ...keys])
    this.#accepted = new Set(validMethods.length > 0 ? validMethods : ['HS256', ...algorithmsOf(keys)])
    this.#publicJwks = { keys: [...keys.values()].filter(({ alg }) => alg !== 'HS256').map(toPublicJwk) }
  }

  /** Imports and tests every key once; throws a KeySettingsError that lists every problem. */
  static create({ secret, keyId, keys, validMethods = [] }: KeyRingSettings): KeyRing {
    const problems = new KeyProblems()
    const verifyKey = importSecret(Buffer.from(secret), problems.of('secret'))
    if (keyId) checkKid(keyId, problems.of('keyId'))
    const named = keys ? importNamedKeys(keys, problems.of('keys')) : NO_KEYS
    const rival = keyId ? named.keys.get(keyId) : undefined
    // The secret may be listed among the keys as well; any other key of that name would make the name ambiguous.
    if (rival && verifyKey && !(rival.alg === 'HS256' && rival.verifyKey.equals(verifyKey))) {
      problems.of('keyId')('is also the kid of another key')
    }
    checkMethods(validMethods, named.signer?.alg ?? 'HS256', problems.of('validMethods'))
    if (!verifyKey || problems.any) throw problems.toError()
    const secretKey: JwtKey = { alg: 'HS256', kid: keyId || undefined, verifyKey, signKey: verifyKey }
    return new KeyRing(secretKey, named, validMethods)
  }

  /** The public halves of all asymmetric keys, also of those that only verify any more or do not sign yet. */
  publicJwks(): PublicJwkSet {
    return this.#publicJwks
  }

  findKey({ alg, kid }: JwtHeader): JwtKey {
    if (!this.#accepted.has(alg)) throw new JwtError('algorithm')
    const key = kid === undefined ? undefined : this.#keys.get(kid)
    if (key) return keyForAlgorithm(key, alg)
    // Tokens minted outside with the shared secret often carry no kid, or one of their own.
    if (alg === 'HS256') return this.#secretKey
    throw new JwtError('unknown_key')
  }
}

type NamedKeys = { readonly keys: ReadonlyMap<string, NamedKey>; readonly signer?: NamedKey }

const NO_KEYS: NamedKeys = { keys: new Map() }

function importNamedKeys(json: string, report: Report): NamedKeys {
  const list = readJwkList(json)
  if (!list) {
    report('must be a JSON array of JWKs or {"keys": […]}')
    return NO_KEYS
  }
  let signer: NamedKey | undefined
  const importKey: typeof importJwk = (jwk, note) => {
    const key = importJwk(jwk, note)
    if (!key || !asksToSign(jwk)) return key
    if (!key.signKey) note('cannot sign without its private part')
    signer = key
    return key
  }
  const keys = importJwkList(list, importKey, report)
  const signers = list.filter(asksToSign).length
  if (signers !== 1) report(`exactly one key must have "sign" in key_ops, not ${signers}`)
  return { keys, signer }
}

function checkMethods(methods: readonly string[], signingAlg: string, report: Report): void {
  if (methods.length === 0) return
  if (!methods.every(isJwtAlgorithm)) report(`only ${JWT_ALGORITHMS.join(', ')} are known`)
  if (!methods.includes(signingAlg)) report(`must include ${signingAlg}, the algorithm of the signing key`)
}

function algorithmsOf(keys: ReadonlyMap<string, JwtKey>): string[] {
  return [...keys.values()].map(({ alg }) => alg)
}
