import { KeyObject } from 'node:crypto'
import { createRemoteJWKSet, type CryptoKey, customFetch } from 'jose'
import { checkStrength } from './jwk.js'
import { JwtError } from './jwt-error.js'
import { JWT_ALGORITHMS, type JwtAlgorithm, type JwtHeader, type JwtKey, type KeySource } from './key.js'

/** Settings of a JwksClient; all but the URL have defaults. */
export type JwksClientOptions = {
  /** http or https address of a JWK Set. */
  readonly url: string | URL
  /** Milliseconds for the whole exchange, body included. Default 5 seconds. */
  readonly timeoutMs?: number
  /** Told about every failed request, for log and metrics; tokens may still verify with the copy at hand. */
  readonly onRefreshFailed?: (error: unknown) => void
  readonly fetch?: typeof fetch
  /** Milliseconds that never go back, for ages and pauses. Default `performance.now`. */
  readonly monotonicMs?: () => number
}

/** The keys could not be fetched and there is no earlier copy: a fault of the environment, not of the token. */
export class JwksUnavailableError extends Error {
  override readonly name = 'JwksUnavailableError'
}

const PUBLISHED_ALGORITHMS = JWT_ALGORITHMS.filter((alg) => alg !== 'HS256')
const MAX_AGE_MS = 600_000
const COOLDOWN_MS = 30_000
// With no copy at all every token fails, so the first one is asked for sooner: services start in any order.
const FIRST_COPY_COOLDOWN_MS = 1_000
const MAX_BYTES = 128 * 1024

/**
 * Verification keys from a JWK Set URL, kept for 10 minutes. A token with an unknown key name makes it ask again, but at
 * most every 30 seconds, so that invented names cost the issuer nothing. When a request fails, the last good copy stays
 * in use. jose fetches and imports; the pauses are kept here, because its own ones do not cover failures.
 */
export class JwksClient implements KeySource {
  readonly #remote: ReturnType<typeof createRemoteJWKSet>
  readonly #keys = new WeakMap<CryptoKey, JwtKey>()
  #fetchedAt = -Infinity
  #attemptedAt = -Infinity
  #failure: unknown

  constructor(private readonly options: JwksClientOptions) {
    const { url, timeoutMs: timeoutDuration = 5_000 } = options
    if (!/^https?:$/.test(new URL(url).protocol)) throw new TypeError('A JWK Set URL must use http or https')
    const policy = { timeoutDuration, cooldownDuration: Infinity, cacheMaxAge: Infinity }
    const download = (input: string, init: RequestInit) => this.#download(input, init)
    this.#remote = createRemoteJWKSet(new URL(url), { ...policy, [customFetch]: download })
  }

  /** As in KeySource; also throws JwksUnavailableError while there is no copy of the keys. */
  async findKey({ alg, kid }: JwtHeader): Promise<JwtKey> {
    // Decided before any request: such tokens cannot be verified with whatever keys there are.
    if (kid === undefined) throw new JwtError('unknown_key')
    if (!PUBLISHED_ALGORITHMS.some((published) => published === alg)) throw new JwtError('algorithm')
    if (this.#now() - this.#fetchedAt >= MAX_AGE_MS) await this.#refresh()
    let key = await this.#import(alg, kid)
    if (!key && (await this.#refresh())) key = await this.#import(alg, kid)
    if (key) return key
    if (this.#fetchedAt === -Infinity)
      throw new JwksUnavailableError('The signing keys of the token issuer could not be fetched', {
        cause: this.#failure,
      })
    const others = await Promise.all(PUBLISHED_ALGORITHMS.map((other) => this.#import(other, kid)))
    throw new JwtError(others.some((other) => other) ? 'algorithm' : 'unknown_key')
  }

  readonly #now = (): number => this.options.monotonicMs?.() ?? performance.now()

  /** Whether the keys were fetched just now. Does nothing in the pause; whoever asks meanwhile shares one request. */
  async #refresh(): Promise<boolean> {
    const pauseMs = this.#fetchedAt === -Infinity ? FIRST_COPY_COOLDOWN_MS : COOLDOWN_MS
    if (!this.#remote.reloading) {
      if (this.#now() - this.#attemptedAt < pauseMs) return false
      this.#attemptedAt = this.#now()
    }
    try {
      await this.#remote.reload()
      this.#fetchedAt = this.#now()
      return true
    } catch (error) {
      if (error !== this.#failure) this.options.onRefreshFailed?.(error)
      this.#failure = error
      return false
    }
  }

  // Undefined for what has no such name, serves another purpose or algorithm, or is too weak.
  async #import(alg: string, kid: string): Promise<JwtKey | undefined> {
    if (this.#fetchedAt === -Infinity) return undefined
    try {
      const imported = await this.#remote({ alg, kid })
      const known = this.#keys.get(imported)
      if (known) return known
      const verifyKey = KeyObject.from(imported)
      checkStrength(verifyKey)
      const key = { alg: alg as JwtAlgorithm, kid, verifyKey }
      this.#keys.set(imported, key)
      return key
    } catch {
      return undefined
    }
  }

  async #download(url: string, init: RequestInit): Promise<Response> {
    const response = await (this.options.fetch ?? fetch)(url, { ...init, redirect: 'error' })
    const chunks: Uint8Array[] = []
    let size = 0
    // Counted while it arrives: a length header may be missing or wrong, and compressed bodies grow.
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      size += chunk.length
      if (size > MAX_BYTES) throw new Error(`The JWK Set is larger than ${MAX_BYTES} bytes`)
      chunks.push(chunk)
    }
    if (response.status === 200) return new Response(Buffer.concat(chunks))
    throw new Error(`The JWK Set URL answered with status ${response.status}`)
  }
}
