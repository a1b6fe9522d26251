import { verifyJwt, type JwtClaims, type KeyRing } from '@signet/jwt'

const LIMIT = 2000
/** Longer ones are rare, and would make the memory they take hard to foresee. */
const MAX_LENGTH = 4096

/**
 * Verifies access tokens and remembers the good ones: a client sends the same token with every request until it
 * expires, and checking a signature costs more than most answers do. The keys of a process never change, so a
 * signature that was good stays good; times are checked each time.
 */
export class VerifiedTokens {
  /** Oldest first, which is the one to go when there are too many. */
  readonly #claims = new Map<string, Readonly<JwtClaims>>()

  constructor(
    private readonly keys: KeyRing,
    private readonly now: () => Date,
  ) {}

  /** Throws a JwtError. */
  async verify(token: string): Promise<Readonly<JwtClaims>> {
    const known = this.#claims.get(token)
    if (known !== undefined && this.#isCurrent(known)) return known
    const claims = await verifyJwt(this.keys, token, { now: this.now })
    if (token.length <= MAX_LENGTH) this.#remember(token, claims)
    return claims
  }

  #isCurrent({ exp = Infinity, nbf = -Infinity }: JwtClaims): boolean {
    const seconds = this.now().getTime() / 1000
    return nbf <= seconds && seconds < exp
  }

  #remember(token: string, claims: JwtClaims): void {
    const [oldest] = this.#claims.keys()
    if (this.#claims.size >= LIMIT && oldest !== undefined) this.#claims.delete(oldest)
    this.#claims.set(token, claims)
  }
}
