import { parseUrl } from '@signet/address-guard/parse-url'
/** Decides which resource indicators (RFC 8707) this server accepts (docs/specification.md#resource-indicators). */
export class ResourcePolicy {
  readonly #base: URL
  readonly #basePath: string
  /** The operator's resources, each as the operator writes it. */
  readonly #further: ReadonlyMap<string, string>

  constructor(baseUrl: string, further: readonly string[]) {
    this.#base = new URL(baseUrl)
    this.#basePath = this.#base.pathname.replace(/\/$/, '')
    this.#further = new Map(further.map((resource) => [comparable(resource), resource]))
  }

  /** Anything else could be a foreign server that names this issuer to collect tokens that work here. */
  accepts(resource: string): boolean {
    return this.isOwn(resource) || this.#further.has(comparable(resource))
  }

  /** True for the base URL and everything below it. */
  isOwn(resource: string): boolean {
    if (
      !/^https?:\/\/[^/\\][\x21-\x7e]*$/i.test(resource) ||
      /[\\#]/.test(resource) ||
      parseUrl(resource) === null
    )
      return false
    const { origin, username, password, pathname } = new URL(resource)
    return (
      origin === this.#base.origin &&
      username === '' &&
      password === '' &&
      (pathname === this.#basePath || pathname.startsWith(`${this.#basePath}/`))
    )
  }

  /** The name that a resource server knows itself by: it compares text, and clients may have added capitals or a slash. */
  nameOf(resource: string): string {
    const compared = comparable(resource)
    return this.#further.get(compared) ?? compared
  }

  /** Whether a token for `granted` is valid at this service itself. A token without resources is. */
  coversOwn(granted: readonly string[]): boolean {
    return granted.length === 0 || granted.some((resource) => this.isOwn(resource))
  }
}

/**
 * Returns true if each of `wanted` is one of `granted`, ignoring a trailing slash, and capitals in scheme and host. A grant without
 * resources covers all.
 */
export function resourcesWithin(wanted: readonly string[], granted: readonly string[]): boolean {
  if (granted.length === 0) return true
  const known = new Set(granted.map(comparable))
  return wanted.every((resource) => known.has(comparable(resource)))
}

const comparable = (url: string): string =>
  url.replace(/\/$/, '').replace(/^https?:\/\/[^/?]*/i, (origin) => origin.toLowerCase())
