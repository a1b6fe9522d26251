/** `error` of a redirect, by the status that another answer would have had. Other statuses have none (docs/specification.md#links). */
export const OAUTH_ERRORS: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  401: 'unauthorized_client',
  403: 'access_denied',
  500: 'server_error',
  503: 'temporarily_unavailable',
}

type Parameters = Readonly<Record<string, string>>

/** Sets query parameters, replacing those of the same name; the rest of the URL stays unchanged. */
export function withQuery(target: string, parameters: Parameters): string {
  const hashAt = target.indexOf('#')
  const fragment = hashAt === -1 ? '' : target.slice(hashAt)
  const [path, query = ''] = splitOnce(hashAt === -1 ? target : target.slice(0, hashAt), '?')
  // Keep the exact encoding of other parameters, which parsing and serializing would change.
  const kept = query.split('&').filter((pair) => pair !== '' && !(nameOf(pair) in parameters))
  return `${path}?${[...kept, String(new URLSearchParams(parameters))].join('&')}${fragment}`
}

/** Appends a fragment without changing the target, even if that already ends in one such as `#/` (docs/specification.md#links). */
export function withFragment(target: string, parameters: Parameters): string {
  return `${target}#${String(new URLSearchParams(parameters))}`
}

function nameOf(pair: string): string {
  const [name] = splitOnce(pair, '=')
  try {
    return decodeURIComponent(name.replaceAll('+', ' '))
  } catch {
    return name
  }
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator)
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}
