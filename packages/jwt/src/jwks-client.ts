import { type JwtHeader } from './compact-token.js'
import { JwtError } from './jwt-error.js'
import { type JwtKey, type KeySource } from './jwt-key.js'
import { PublicKeySet } from './public-key-set.js'

/** Settings of a JwksClient; all but the URL have defaults. Times in milliseconds. */
export type JwksClientOptions = {
  /** http or https address of a JWK Set. */
  readonly url: string | URL
  /** A copy is used this long without asking again. Default 10 minutes, as long as our own server lets caches keep it. */
  readonly maxAgeMs?: number
  /** Least time between two requests, whatever tokens arrive and whether requests fail. Default 30 seconds. */
  readonly cooldownMs?: number
  /** For the whole exchange, body included. Default 5 seconds. */
  readonly timeoutMs?: number
  /** Largest accepted body. Default 128 KiB. */
  readonly maxBytes?: number
  /** Told about every failed request, for log and metrics; tokens may still verify with the copy at hand. */
  readonly onRefreshFailed?: (error: unknown) => void
  readonly fetch?: typeof fetch
  /** Milliseconds that never go back, for ages and pauses. Default `performance.now`. */
  readonly monotonicMs?: () => number
}

/** The keys could not be had and there is no earlier copy: a fault of the environment, not of the token. */
export class JwksUnavailableError extends Error {
  override readonly name = 'JwksUnavailableError'

  constructor(options?: ErrorOptions) {
    super('The signing keys of the token issuer could not be fetched', options)
  }
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
// With no copy at all every token fails, so the first one is asked for sooner: services start in any order.
const FIRST_COPY_COOLDOWN_MS = SECOND

/**
 * Verification keys from a JWK Set URL. One request at a time; a new one when the copy is old or a token names an
 * unknown key, but never within the cooldown, so that invented key names cost the issuer nothing. When a request fails
 * the last good copy stays in use.
 */
export class JwksClient implements KeySource {
  readonly #url: URL
  readonly #maxAgeMs: number
  readonly #cooldownMs: number
  readonly #timeoutMs: number
  readonly #maxBytes: number
  readonly #onRefreshFailed: (error: unknown) => void
  readonly #fetch: typeof fetch
  readonly #monotonicMs: () => number
  #copy: { readonly keys: PublicKeySet; readonly fetchedAt: number } | undefined
  #lastAttemptAt = -Infinity
  #lastFailure: unknown
  #refreshing: Promise<void> | undefined

  constructor(options: JwksClientOptions) {
    this.#url = new URL(options.url)
    if (!/^https?:$/.test(this.#url.protocol)) throw new TypeError('A JWK Set URL must use http or https')
    this.#maxAgeMs = options.maxAgeMs ?? 10 * MINUTE
    this.#cooldownMs = options.cooldownMs ?? MINUTE / 2
    this.#timeoutMs = options.timeoutMs ?? 5 * SECOND
    this.#maxBytes = options.maxBytes ?? 128 * 1024
    this.#onRefreshFailed = options.onRefreshFailed ?? (() => undefined)
    this.#fetch = options.fetch ?? fetch
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now())
  }

  /** As in KeySource; also throws JwksUnavailableError while there is no copy of the keys. */
  async findKey(header: JwtHeader): Promise<JwtKey> {
    // Decided before any request: such tokens cannot be verified with whatever keys there are.
    if (header.kid === undefined) throw new JwtError('unknown_key')
    if (!PUBLISHED_ALGORITHMS.has(header.alg)) throw new JwtError('algorithm')
    if (this.#isStale() || !this.#copy?.keys.has(header.kid)) await this.#refreshUnlessTooSoon()
    if (!this.#copy) throw new JwksUnavailableError({ cause: this.#lastFailure })
    return this.#copy.keys.findKey(header)
  }

  #isStale(): boolean {
    return !this.#copy || this.#monotonicMs() - this.#copy.fetchedAt >= this.#maxAgeMs
  }

  async #refreshUnlessTooSoon(): Promise<void> {
    if (!this.#refreshing) {
      const pauseMs = this.#copy ? this.#cooldownMs : Math.min(this.#cooldownMs, FIRST_COPY_COOLDOWN_MS)
      if (this.#monotonicMs() - this.#lastAttemptAt < pauseMs) return
      this.#lastAttemptAt = this.#monotonicMs()
      this.#refreshing = this.#refresh().finally(() => {
        this.#refreshing = undefined
      })
    }
    await this.#refreshing
  }

  async #refresh(): Promise<void> {
    try {
      this.#copy = { keys: await this.#download(), fetchedAt: this.#monotonicMs() }
    } catch (error) {
      this.#lastFailure = error
      this.#onRefreshFailed(error)
    }
  }

  async #download(): Promise<PublicKeySet> {
    const response = await this.#fetch(this.#url, {
      headers: { accept: 'application/jwk-set+json, application/json' },
      redirect: 'error',
      signal: AbortSignal.timeout(this.#timeoutMs),
    })
    if (response.status !== 200) {
      await response.body?.cancel()
      throw new Error(`The JWK Set URL answered with status ${response.status}`)
    }
    const keys = PublicKeySet.fromPublished(await readText(response, this.#maxBytes))
    if (!keys) throw new Error('The JWK Set URL answered with something else than a JWK Set')
    return keys
  }
}

const PUBLISHED_ALGORITHMS: ReadonlySet<string> = new Set(['RS256', 'ES256', 'EdDSA'])

// Counted while it arrives: a length header may be missing or wrong, and compressed bodies grow.
async function readText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > maxBytes) throw new Error(`The JWK Set is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
