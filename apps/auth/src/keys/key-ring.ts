import {
  importJwks,
  importSecret,
  isJsonObject,
  isKid,
  JWT_ALGORITHMS,
  KID_RULE,
  parseJwks,
} from '@signet/jwt'
import { KeySet, type JwtKey, type NamedKey } from '@signet/jwt'
import type { JWK } from 'jose'
import { importPrivateJwk } from './private-jwk.js'

/** The key settings as the operator wrote them; empty texts and lists count as unset. */
export type KeySettings = {
  /** HS256 secret, used as its UTF-8 bytes. */
  readonly secret: string
  /** `kid` of the secret. */
  readonly keyId?: string | undefined
  /** JSON array of JWKs or JWK Set; the one with `sign` in its `key_ops` takes over signing from the secret. */
  readonly keys?: string | undefined
  /** The only algorithms accepted in tokens; by default those of all keys and HS256. */
  readonly validMethods?: readonly string[]
  /** Algorithm of the key that `withKeys` lets sign later; by default HS256, with the secret. */
  readonly signingAlgorithm?: string | undefined
}

/** One thing wrong with key settings. The message names positions and rules, never values: values may be secret. */
export type KeyProblem = { readonly setting: keyof KeySettings; readonly message: string }
type Report = (message: string) => void

/** Unusable key settings, with every problem at once; the caller knows which variable each `setting` came from. */
export class KeySettingsError extends Error {
  override readonly name = 'KeySettingsError'

  constructor(readonly problems: readonly KeyProblem[]) {
    super(problems.map(({ setting, message }) => `${setting}: ${message}`).join('; '))
  }
}

/** All keys of this server: one signs, all verify, the asymmetric ones are published. A ring never changes. */
export class KeyRing extends KeySet {
  constructor(
    private readonly secret: JwtKey,
    keys: readonly NamedKey[],
    private readonly validMethods: readonly string[],
    /** The key that signs new tokens. */
    readonly signingKey: JwtKey,
  ) {
    const algorithms = validMethods.length > 0 ? validMethods : ['HS256', ...keys.map(({ alg }) => alg)]
    super(keys, { secret, algorithms })
  }

  /** Imports and tests every key once; throws a KeySettingsError that lists every problem. */
  static create(settings: KeySettings): KeyRing {
    const { secret, keyId, keys: json, validMethods = [], signingAlgorithm = 'HS256' } = settings
    const problems: KeyProblem[] = []
    const report =
      (setting: KeyProblem['setting']): Report =>
      (message) =>
        void problems.push({ setting, message })
    const secretKey = tryImportSecret(secret, keyId, report('secret'))
    if (keyId && !isKid(keyId)) report('keyId')(KID_RULE)
    const { keys, signer } = importKeys(json, report('keys'))
    // The secret may be listed among the keys as well; any other key of that name would make the name ambiguous.
    const rival = keys.find(({ kid }) => kid === keyId)?.verifyKey
    if (rival && secretKey && !(rival.type === 'secret' && rival.equals(secretKey.verifyKey)))
      report('keyId')('is also the kid of another key')
    const signs = signer?.alg ?? signingAlgorithm
    if (!validMethods.every((name) => JWT_ALGORITHMS.some((alg) => alg === name)))
      report('validMethods')(`only ${JWT_ALGORITHMS.join(', ')} are known`)
    if (validMethods.length > 0 && !validMethods.includes(signs))
      report('validMethods')(`must include ${signs}, the algorithm of the signing key`)
    if (!secretKey || problems.length > 0) throw new KeySettingsError(problems)
    return new KeyRing(secretKey, keys, validMethods, signer ?? secretKey)
  }

  /** The same ring with more keys, one of which may take over signing. */
  withKeys(keys: readonly NamedKey[], signingKey: JwtKey = this.signingKey): KeyRing {
    return new KeyRing(this.secret, [...this.keys, ...keys], this.validMethods, signingKey)
  }

  /** The body of `/.well-known/jwks.json`: all asymmetric keys, including those that no longer sign or do not sign yet. */
  publicJwks(): { readonly keys: readonly JWK[] } {
    const published = this.keys.filter(({ alg }) => alg !== 'HS256')
    // Exported from the public KeyObject, so that nothing private can slip through.
    const toJwk = ({ kid, alg, verifyKey }: NamedKey) => ({
      kid,
      alg,
      ...verifyKey.export({ format: 'jwk' }),
    })
    return { keys: published.map((key) => ({ ...toJwk(key), use: 'sig', key_ops: ['verify'] })) }
  }
}

function tryImportSecret(secret: string, keyId: string | undefined, report: Report): JwtKey | undefined {
  try {
    return importSecret(Buffer.from(secret), keyId || undefined)
  } catch (error) {
    report((error as TypeError).message)
    return undefined
  }
}

function importKeys(json: string | undefined, report: Report): { keys: NamedKey[]; signer?: NamedKey } {
  if (!json) return { keys: [] }
  const jwks = parseJwks(json)
  if (!jwks) {
    report('must be a JSON array of JWKs or {"keys": […]}')
    return { keys: [] }
  }
  const { keys, problems } = importJwks(jwks, importPrivateJwk)
  problems.forEach(report)
  const signers = jwks.filter(asksToSign)
  if (signers.length !== 1) report(`exactly one key must have "sign" in key_ops, not ${signers.length}`)
  const signer = keys.find(({ kid }) => kid === signers[0]?.['kid'])
  if (signer && !signer.signKey) report(`the key with "sign" in key_ops cannot sign without its private part`)
  return { keys, ...(signer ? { signer } : {}) }
}

const asksToSign = (jwk: unknown): jwk is Record<string, unknown> =>
  isJsonObject(jwk) && Array.isArray(jwk['key_ops']) && jwk['key_ops'].includes('sign')
