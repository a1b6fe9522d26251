import { type JwtHeader } from './compact-token.js'
import { importPublicJwk } from './jwk.js'
import { hasPrivatePart, importJwkList, readJwkList } from './jwk-list.js'
import { JwtError } from './jwt-error.js'
import { keyForAlgorithm, type JwtKey, type KeySource } from './jwt-key.js'
import { KeyProblems } from './key-settings-error.js'

/** Asymmetric verification keys by `kid`. There is no fallback: a token without a known `kid` is refused. */
export class PublicKeySet implements KeySource {
  readonly #keys: ReadonlyMap<string, JwtKey>

  private constructor(keys: ReadonlyMap<string, JwtKey>) {
    this.#keys = keys
  }

  /** Reads configured public keys (JSON array of JWKs or JWK Set); throws a KeySettingsError with every problem. */
  static fromSettings(json: string): PublicKeySet {
    const problems = new KeyProblems()
    const report = problems.of('keys')
    const list = readJwkList(json)
    if (!list?.length) report('must be a JSON array of JWKs or {"keys": […]} with at least one key')
    const importKey: typeof importPublicJwk = (jwk, note) => {
      if (hasPrivatePart(jwk)) note('has a private part; give only the public key')
      return importPublicJwk(jwk, note)
    }
    const keys = importJwkList(list ?? [], importKey, report)
    if (problems.any) throw problems.toError()
    return new PublicKeySet(keys)
  }

  /**
   * Reads a published JWK Set. Keys that cannot be used (for encryption, of other algorithms, weak, symmetric) are
   * skipped, as RFC 7517 section 5 asks; undefined when the text is no JWK Set at all.
   */
  static fromPublished(json: string): PublicKeySet | undefined {
    const list = readJwkList(json)
    return list && new PublicKeySet(importJwkList(list, importPublicJwk, () => undefined))
  }

  /** Whether the set holds a key of this name. */
  has(kid: string): boolean {
    return this.#keys.has(kid)
  }

  findKey({ alg, kid }: JwtHeader): JwtKey {
    const key = kid === undefined ? undefined : this.#keys.get(kid)
    if (!key) throw new JwtError('unknown_key')
    return keyForAlgorithm(key, alg)
  }
}
