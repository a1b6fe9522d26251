import { createHash } from 'node:crypto'
import { JwksClient, JwksUnavailableError, JwtError, verifyJwt, type JwtClaims } from '@signet/jwt'
import { decodeProtectedHeader } from 'jose'
import { LRUCache } from 'lru-cache'
import type { Outbound } from '../../outbound/outbound.js'
import { MAX_SUBJECT, textAt } from '../model/foreign-json.js'
import { ProviderError } from '../model/provider.js'

export type IdTokenCheck = {
  token: string
  /** The issuer that the token must have, exactly. */
  issuer: string
  /** The token must be meant for one of these clients. */
  audiences: readonly string[]
  /** The URL of the keys; by default from the issuer's discovery document. */
  keysUrl?: string | undefined
  /** The issuer with the discovery document; by default the one of the token. */
  discoveredAt?: string | undefined
  /** If the token contains a hash of an access token, it must match this one. */
  accessToken?: string | undefined
}

type Deps = { outbound: Outbound; now: () => Date }

/** Each tenant of a provider is a separate issuer, and callers may name many that do not exist. */
const MAX_ISSUERS = 200
const CLOCK_SKEW_SECONDS = 30

/** Verifies id tokens of other issuers (OpenID Connect Core section 3.1.3.7). */
export class IdTokenVerifier {
  readonly #clients = new LRUCache<string, JwksClient>({ max: MAX_ISSUERS })

  constructor(private readonly deps: Deps) {}

  /** Returns the claims of a valid token. Throws {@link JwtError} for an invalid one, and ProviderError if the keys are unavailable. */
  async verify(check: IdTokenCheck): Promise<JwtClaims> {
    const { token, issuer, audiences, accessToken } = check
    const url = check.keysUrl ?? (await this.#discover(check.discoveredAt ?? issuer))
    const claims = await verifyJwt(this.#clientOf(url), token, {
      issuer,
      audience: audiences,
      requireExp: true,
      clockSkewSeconds: CLOCK_SKEW_SECONDS,
      now: this.deps.now,
    }).catch((error: unknown) => {
      throw error instanceof JwksUnavailableError ? new ProviderError(error.message, { cause: error }) : error
    })
    const { sub = '' } = claims
    if (sub === '' || sub.length > MAX_SUBJECT) throw new JwtError('malformed')
    if (
      accessToken !== undefined &&
      claims['at_hash'] !== undefined &&
      claims['at_hash'] !== hashOf(accessToken, token)
    )
      throw new JwtError('malformed')
    return claims
  }

  async #discover(issuer: string): Promise<string> {
    const known = this.#keysUrls.get(issuer)
    if (known !== undefined) return known
    const { status, text } = await this.deps.outbound.request({
      url: `${issuer}/.well-known/openid-configuration`,
    })
    if (status !== 200) throw new ProviderError(`the discovery document has status ${status}`)
    const document: unknown = parseJson(text)
    const url = textAt(document, 'jwks_uri')
    // If the document could name another issuer, that issuer could sign for this one.
    if (textAt(document, 'issuer') !== issuer || url === undefined)
      throw new ProviderError('the discovery document has another issuer or no keys')
    this.#keysUrls.set(issuer, url)
    return url
  }
  readonly #keysUrls = new LRUCache<string, string>({ max: MAX_ISSUERS })

  #clientOf(url: string): JwksClient {
    const client = this.#clients.get(url) ?? new JwksClient({ url, fetch: this.#fetch })
    this.#clients.set(url, client)
    return client
  }

  /** Fetches keys with the guarded client, too. */
  readonly #fetch: typeof globalThis.fetch = async (input) => {
    const url = input instanceof Request ? input.url : String(input)
    const { status, text } = await this.deps.outbound.request({ url })
    return new Response(text, { status })
  }
}

/** The issuer that a token claims, without verification; undefined if it is not a JWT. */
export function claimedIssuer(token: string): string | undefined {
  const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()
  return textAt(parseJson(payload), 'iss')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Left half of the hash that the algorithm of the token uses, base64url (OpenID Connect Core section 3.1.3.6). Ed25519 uses SHA-512. */
function hashOf(accessToken: string, token: string): string {
  const { alg } = decodeProtectedHeader(token)
  const hash = createHash(alg === 'EdDSA' ? 'sha512' : 'sha256')
    .update(accessToken)
    .digest()
  return hash.subarray(0, hash.length / 2).toString('base64url')
}
