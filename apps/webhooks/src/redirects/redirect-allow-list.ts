import { parseUrl } from '@signet/address-guard/parse-url'
import { isLoopback } from './redirect-uri.js'

type Entry = { readonly uri: string; readonly anyPathBelow: boolean }

/** The https redirect URIs that the operator allows (docs/specification.md#redirect-uris). Loopback URIs need no entry. */
export class RedirectAllowList {
  readonly #entries: readonly Entry[]

  constructor(entries: readonly string[]) {
    this.#entries = entries.map(parseAllowListEntry)
  }

  allows(uri: string): boolean {
    if (isLoopback(uri)) return true
    const candidate = canonical(uri)
    return this.#entries.some((entry) => covers(entry, candidate))
  }
}

/** Parses an exact https URI, or one ending in `/*`. Throws with a message for the operator. */
export function parseAllowListEntry(text: string): Entry {
  const anyPathBelow = text.endsWith('/*')
  const uri = anyPathBelow ? text.slice(0, -1) : text
  if (!/^https:\/\/[^/?]/i.test(uri) || parseUrl(uri) === null || /[*#@\\]|[^\x21-\x7e]/.test(uri))
    throw new Error('must be absolute https URIs without wildcards, except for /* at the end')
  return { uri: canonical(uri), anyPathBelow }
}

function covers({ uri, anyPathBelow }: Entry, candidate: string): boolean {
  if (!anyPathBelow) return candidate === uri
  // Dots and encoded slashes could lead out of the folder once the client or a proxy has normalized the path.
  const path = candidate.split('?', 1)[0] ?? ''
  return path.length > uri.length && path.startsWith(uri) && !/\.\.|%2e|%2f|%5c/i.test(candidate)
}

/** Converts scheme and host to lower case, and drops the default port. Path and query stay as they are. */
function canonical(uri: string): string {
  const [, origin = '', rest = ''] = /^(https?:\/\/[^/?]*)(.*)$/is.exec(uri) ?? []
  return origin.toLowerCase().replace(/:443$/, '') + rest
}
