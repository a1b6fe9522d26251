import type { IncomingMessage } from 'node:http'

const ABSOLUTE = /^https?:\/\/([^/?#]*)(.*)$/is

/**
 * Rewrites a request whose first line contains a whole URL into one for the URL's path, with the URL's host instead of the one in the
 * header (RFC 9112 section 3.2.2). A URL in place of a path would break every address that is built from it.
 */
export function toOriginForm(req: IncomingMessage): void {
  const { url = '' } = req
  if (url.startsWith('/')) return
  const [, host, path = ''] = ABSOLUTE.exec(url) ?? []
  if (host === undefined) return
  req.headers.host = host
  req.url = path.startsWith('/') ? path : `/${path}`
}
