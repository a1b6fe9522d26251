import type { JWK } from 'jose'
import { isJsonObject } from './compact-token.js'
import { attempt, importJwkList, importSecret, isKid, KID_RULE, type Report } from './jwk.js'
import { JwtError } from './jwt-error.js'
import {
  JWT_ALGORITHMS,
  type JwtHeader,
  type JwtKey,
  keyForAlgorithm,
  type KeySource,
  type NamedKey,
} from './key.js'

/** The key settings of an identity server as its operator wrote them; empty texts and lists count as unset. */
export type KeyRingSettings = {
  /** HS256 secret, used as its UTF-8 bytes. */
  readonly secret: string
  /** `kid` of the secret. */
  readonly keyId?: string | undefined
  /** JSON array of JWKs or JWK Set; the one with `sign` in its `key_ops` takes over signing from the secret. */
  readonly keys?: string | undefined
  /** The only algorithms accepted in tokens; by default those of all keys and HS256. */
  readonly validMethods?: readonly string[]
  /** Of the key that `withKeys` lets sign later; default HS256, the secret. */
  readonly signingAlgorithm?: string | undefined
}

/** One thing wrong with key settings. The message names positions and rules, never values: values may be secret. */
export type KeyProblem = { readonly setting: keyof KeyRingSettings; readonly message: string }

/** Unusable key settings, with every problem at once; the caller knows which variable each `setting` came from. */
export class KeySettingsError extends Error {
  override readonly name = 'KeySettingsError'

  constructor(readonly problems: readonly KeyProblem[]) {
    super(problems.map(({ setting, message }) => `${setting}: ${message}`).join('; '))
  }
}

/** All keys of an identity server: one signs, all verify, the asymmetric ones are published. A ring never changes. */
export class KeyRing implements KeySource {
  readonly #byKid: ReadonlyMap<string | undefined, JwtKey>
  readonly #accepted: ReadonlySet<string>

  private constructor(
    private readonly secret: JwtKey,
    private readonly named: readonly NamedKey[],
    private readonly validMethods: readonly string[],
    /** The key that signs new tokens. */
    readonly signingKey: JwtKey,
  ) {
    this.#byKid = new Map([secret, ...named].map((key) => [key.kid, key]))
    this.#accepted = new Set(
      validMethods.length > 0 ? validMethods : ['HS256', ...named.map(({ alg }) => alg)],
    )
  }

  /** Imports and tests every key once; throws a KeySettingsError that lists every problem. */
  static create(settings: KeyRingSettings): KeyRing {
    const { secret, keyId, keys: json, validMethods = [], signingAlgorithm = 'HS256' } = settings
    const problems: KeyProblem[] = []
    const report = (setting: KeyProblem['setting']) => (message: string) =>
      void problems.push({ setting, message })
    const verifyKey = attempt(() => importSecret(Buffer.from(secret)), report('secret'))
    if (keyId && !isKid(keyId)) report('keyId')(KID_RULE)
    const { keys, signer } = importKeys(json, report('keys'))
    // The secret may be listed among the keys as well; any other key of that name would make the name ambiguous.
    const rival = keys.find(({ kid }) => kid === keyId)?.verifyKey
    if (rival && verifyKey && !(rival.type === 'secret' && rival.equals(verifyKey)))
      report('keyId')('is also the kid of another key')
    const signs = signer?.alg ?? signingAlgorithm
    if (!validMethods.every((name) => JWT_ALGORITHMS.some((alg) => alg === name)))
      report('validMethods')(`only ${JWT_ALGORITHMS.join(', ')} are known`)
    if (validMethods.length > 0 && !validMethods.includes(signs))
      report('validMethods')(`must include ${signs}, the algorithm of the signing key`)
    if (!verifyKey || problems.length > 0) throw new KeySettingsError(problems)
    const secretKey: JwtKey = { alg: 'HS256', kid: keyId || undefined, verifyKey, signKey: verifyKey }
    return new KeyRing(secretKey, keys, validMethods, signer ?? secretKey)
  }

  /** The same ring with more keys, one of which may take over signing. */
  withKeys(keys: readonly NamedKey[], signingKey: JwtKey = this.signingKey): KeyRing {
    return new KeyRing(this.secret, [...this.named, ...keys], this.validMethods, signingKey)
  }

  /** The body of `/.well-known/jwks.json`: all asymmetric keys, also those that sign no more or not yet. */
  publicJwks(): { readonly keys: readonly JWK[] } {
    const published = this.named.filter(({ alg }) => alg !== 'HS256')
    // Exported from the public KeyObject, so that nothing private can slip through.
    const toJwk = ({ kid, alg, verifyKey }: NamedKey) => ({
      kid,
      alg,
      ...verifyKey.export({ format: 'jwk' }),
    })
    return { keys: published.map((key) => ({ ...toJwk(key), use: 'sig', key_ops: ['verify'] })) }
  }

  findKey({ alg, kid }: JwtHeader): JwtKey {
    if (!this.#accepted.has(alg)) throw new JwtError('algorithm')
    const key = kid === undefined ? undefined : this.#byKid.get(kid)
    // Tokens minted outside with the shared secret often carry no kid, or one of their own.
    return keyForAlgorithm(key ?? (alg === 'HS256' ? this.secret : undefined), alg)
  }
}

function importKeys(
  json: string | undefined,
  report: Report,
): { keys: NamedKey[]; signer?: NamedKey | undefined } {
  if (!json) return { keys: [] }
  const { keys, jwks } = importJwkList(json, report)
  if (!jwks) return { keys }
  const signers = jwks.filter(asksToSign)
  if (signers.length !== 1) report(`exactly one key must have "sign" in key_ops, not ${signers.length}`)
  const signer = keys.find(({ kid }) => kid === signers[0]?.['kid'])
  if (signer && !signer.signKey) report(`the key with "sign" in key_ops cannot sign without its private part`)
  return { keys, signer }
}

const asksToSign = (jwk: unknown): jwk is Record<string, unknown> =>
  isJsonObject(jwk) && Array.isArray(jwk['key_ops']) && jwk['key_ops'].includes('sign')
