import { createRemoteJWKSet, customFetch } from 'jose'
import { importJwks } from './jwk.js'
import { JwtError } from './jwt-error.js'
import { demand, type JwtHeader, type JwtKey, KeySet, type KeySource } from './key.js'

export type JwksClientOptions = {
  readonly url: string | URL
  /** Time limit of the whole exchange, including the body, in milliseconds. Default 5 seconds. */
  readonly timeoutMs?: number
  /** Called for every failed request, for logs and metrics. Tokens may still verify with the current copy. */
  readonly onRefreshFailed?: (error: unknown) => void
  readonly fetch?: typeof fetch
  /** A clock in milliseconds that never goes back, for ages and pauses. Default `performance.now`. */
  readonly monotonicMs?: () => number
}

/** The keys could not be fetched and there is no earlier copy: a fault of the environment, not of the token. */
export class JwksUnavailableError extends Error {
  override readonly name = 'JwksUnavailableError'
}

const UNAVAILABLE = 'The signing keys of the token issuer could not be fetched'
const PUBLISHED_ALGORITHMS = ['RS256', 'ES256', 'EdDSA']
const MAX_AGE_MS = 600_000
const COOLDOWN_MS = 30_000
// Without any copy, every token fails, so the first fetch is retried sooner: services start in any order.
const FIRST_COPY_COOLDOWN_MS = 1_000
const MAX_BYTES = 128 * 1024

/**
 * Verification keys from a JWK Set URL. An unknown key name triggers a new request after a pause, so that invented names cause no load
 * on the issuer. jose fetches the keys, but this class keeps the pauses, because those of jose do not cover failures.
 */
export class JwksClient implements KeySource {
  readonly #remote: ReturnType<typeof createRemoteJWKSet>
  readonly #now = (): number => this.options.monotonicMs?.() ?? performance.now()
  /** The last valid keys, which stay in use while requests fail. */
  #copy: KeySet | undefined
  #fetchedAt = -Infinity
  #attemptedAt = -Infinity
  #failure: unknown

  constructor(private readonly options: JwksClientOptions) {
    const { url, timeoutMs: timeoutDuration = 5_000, fetch: download = fetch } = options
    demand(/^https?:$/.test(new URL(url).protocol), 'A JWK Set URL must use http or https')
    const fetchLimited = (input: string, init: RequestInit) =>
      download(input, { ...init, redirect: 'error' }).then(readLimited)
    this.#remote = createRemoteJWKSet(new URL(url), { timeoutDuration, [customFetch]: fetchLimited })
  }

  /** As in KeySource; also throws JwksUnavailableError while there is no copy of the keys. */
  async findKey(header: JwtHeader): Promise<JwtKey> {
    // Decided before any request: no key could verify such a token.
    if (header.kid === undefined) throw new JwtError('unknown_key')
    if (!PUBLISHED_ALGORITHMS.includes(header.alg)) throw new JwtError('algorithm')
    const isNamed = this.#copy?.keys.some(({ kid }) => kid === header.kid)
    if (!isNamed || this.#now() - this.#fetchedAt >= MAX_AGE_MS) await this.#refresh()
    if (this.#copy) return this.#copy.findKey(header)
    throw new JwksUnavailableError(UNAVAILABLE, { cause: this.#failure })
  }

  /** Fetches the keys, except during the pause. Concurrent callers share one request. */
  async #refresh(): Promise<void> {
    const pauseMs = this.#copy ? COOLDOWN_MS : FIRST_COPY_COOLDOWN_MS
    if (!this.#remote.reloading && this.#now() - this.#attemptedAt < pauseMs) return
    this.#attemptedAt = this.#now()
    try {
      await this.#remote.reload()
      // Leaves out weak keys and keys for other purposes and algorithms.
      const { keys } = importJwks(this.#remote.jwks()?.keys ?? [])
      this.#copy = new KeySet(keys.filter(({ alg }) => alg !== 'HS256'))
      this.#fetchedAt = this.#now()
    } catch (error) {
      if (error !== this.#failure) this.options.onRefreshFailed?.(error)
      this.#failure = error
    }
  }
}

async function readLimited({ body, status }: Response): Promise<Response> {
  const chunks: Uint8Array[] = []
  let size = 0
  // Counts the bytes as they arrive: a length header may be missing or wrong, and compressed bodies grow.
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > MAX_BYTES) throw new Error(`The JWK Set is larger than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  if (status === 200) return new Response(Buffer.concat(chunks))
  throw new Error(`The JWK Set URL answered with status ${status}`)
}
