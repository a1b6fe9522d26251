import { importJwkList } from './jwk.js'
import { type JwtHeader, type JwtKey, keyForAlgorithm, type KeySource } from './key.js'
import { type KeyProblem, KeySettingsError } from './key-ring.js'

/** Asymmetric verification keys by `kid`. There is no fallback: a token without a known `kid` is refused. */
export class PublicKeySet implements KeySource {
  private constructor(private readonly keys: ReadonlyMap<string | undefined, JwtKey>) {}

  /** Reads configured public keys (JSON array of JWKs or JWK Set); throws a KeySettingsError with every problem. */
  static fromSettings(json: string): PublicKeySet {
    const problems: KeyProblem[] = []
    const report = (message: string) => void problems.push({ setting: 'keys', message })
    const { keys, jwks } = importJwkList(json, report)
    if (jwks?.length === 0) report('must list at least one key')
    if (keys.some(({ signKey }) => signKey))
      report('must be public keys: none symmetric or with a private part')
    if (problems.length > 0) throw new KeySettingsError(problems)
    return new PublicKeySet(new Map(keys.map((key) => [key.kid, key])))
  }

  /** Whether the set holds a key of this name. */
  has(kid: string): boolean {
    return this.keys.has(kid)
  }

  findKey({ alg, kid }: JwtHeader): JwtKey {
    return keyForAlgorithm(this.keys.get(kid), alg)
  }
}
