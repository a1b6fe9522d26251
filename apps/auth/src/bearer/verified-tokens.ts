import { JwtError, verifyJwt, type JwtClaims } from '@signet/jwt'
import { LRUCache } from 'lru-cache'
import type { KeyRing } from '../keys/key-ring.js'
import type { LiveKeys } from '../keys/live-keys.js'

const MAX_TOKENS = 2000
/** Longer tokens are rare, and would make memory use hard to predict. */
const MAX_LENGTH = 4096

type Keys = Pick<LiveKeys, 'forVerifying' | 'newerThan'>
type Verified = Readonly<JwtClaims>

/**
 * Verifies access tokens and remembers the good ones: a client sends the same token with every request until it
 * expires, and checking a signature costs more than most answers do. A result is only valid for the key ring it was
 * verified with, so a token is refused as soon as its key is dropped; times are checked on every use.
 */
export class VerifiedTokens {
  readonly #verified = new LRUCache<string, Verified>({ max: MAX_TOKENS })
  #ring: KeyRing | undefined

  constructor(
    private readonly keys: Keys,
    private readonly now: () => Date,
  ) {}

  /** Throws a JwtError. */
  async verify(token: string): Promise<Verified> {
    const ring = await this.keys.forVerifying()
    try {
      return await this.#verifyWith(ring, token)
    } catch (error) {
      if (!(error instanceof JwtError) || !KEY_MISSING.has(error.reason)) throw error
      // Another replica may have signed with a key that this one has not seen yet.
      const newer = await this.keys.newerThan(ring)
      if (newer === ring) throw error
      return this.#verifyWith(newer, token)
    }
  }

  async #verifyWith(ring: KeyRing, token: string): Promise<Verified> {
    if (ring !== this.#ring) this.#verified.clear()
    this.#ring = ring
    const known = this.#verified.get(token)
    if (known !== undefined && this.#isCurrent(known)) return known
    const claims = await verifyJwt(ring, token, { now: this.now })
    // The ring may have changed while the signature was checked.
    if (token.length <= MAX_LENGTH && ring === this.#ring) this.#verified.set(token, claims)
    return claims
  }

  #isCurrent({ exp = Infinity, nbf = -Infinity }: JwtClaims): boolean {
    const seconds = this.now().getTime() / 1000
    return nbf <= seconds && seconds < exp
  }
}

const KEY_MISSING: ReadonlySet<string> = new Set(['unknown_key', 'algorithm'])
