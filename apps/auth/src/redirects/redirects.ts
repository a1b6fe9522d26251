import type { Request } from 'express'
import { matchesPattern, parsePattern, type Pattern } from './pattern.js'
import { isPlainPath } from './plain-path.js'
import { isLoopbackAddress, readTarget, type Target } from './target.js'

type RedirectConfig = {
  readonly siteUrl: string
  readonly uriAllowList: readonly string[]
  /** A page of this server, allowed with any query. */
  readonly ownPage?: string | undefined
}

/** Where browsers may be sent with a session: the site itself, and what the allow-list names (decision 0130). */
export class Redirects {
  readonly siteUrl: string
  readonly #site: Target | null
  readonly #siteHost: string | undefined
  readonly #patterns: readonly Pattern[]
  readonly #ownPage: string | undefined

  constructor({ siteUrl, uriAllowList, ownPage }: RedirectConfig) {
    this.siteUrl = siteUrl
    this.#siteHost = /^[^:]+:\/\/([^/?#]*?)(:\d*)?([/?#]|$)/.exec(siteUrl)?.[1]
    this.#site = readTarget(siteUrl, this.#siteHost)
    this.#patterns = uriAllowList.map(parsePattern)
    this.#ownPage = ownPage
  }

  /**
   * The target in a form that can be sent in a header, or null if it is not allowed. Never throws: an unreadable target is not allowed
   * either.
   */
  accepted(candidate: string): string | null {
    const target = readTarget(candidate, this.#siteHost)
    const isAllowed =
      target !== null &&
      (this.#isSite(target) ||
        candidate.split('?', 1)[0] === this.#ownPage ||
        this.#patterns.some((pattern) => matchesPattern(pattern, target)))
    if (!isAllowed) return null
    return /^[\x21-\x7e]+$/.test(candidate) ? candidate : new URL(candidate).href
  }

  /**
   * Where a request wants its user to end up: the target in the header or parameter `redirect_to`, otherwise the site. A target that is not
   * allowed is silently ignored.
   */
  targetOf(req: Request): string {
    const { redirect_to: parameter } = req.query
    const named: unknown = Array.isArray(parameter) ? parameter[0] : parameter
    for (const candidate of [req.get('redirect_to'), named]) {
      const target = typeof candidate === 'string' ? this.accepted(candidate) : null
      if (target !== null) return target
    }
    return this.siteUrl
  }

  #isSite({ scheme, host, port, path }: Target): boolean {
    const site = this.#site
    if (site === null || host === null || scheme !== site.scheme || host !== site.host) return false
    if (!isPlainPath(path)) return false
    // Development servers use any free port.
    return port === site.port || isLoopback(host)
  }
}

const isLoopback = (host: string): boolean =>
  isLoopbackAddress(host) || host === 'localhost' || host.endsWith('.localhost')
