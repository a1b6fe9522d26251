import { createHash, timingSafeEqual } from 'node:crypto'
import { type RequestHandler } from 'express'

/**
 * Lets in whoever has the operator token: as the password of Basic credentials, which is what browsers ask for, or as a
 * Bearer token. Changes from other sites are refused, because a browser sends Basic credentials along with those, too.
 */
export function requireAdminToken(token: string): RequestHandler {
  const expected = digest(token)
  return (req, res, next) => {
    const given = tokenOf(req.get('authorization') ?? '')
    if (given === undefined || !timingSafeEqual(digest(given), expected)) {
      res.setHeader('WWW-Authenticate', 'Basic realm="Dispatcher", charset="UTF-8"')
      res.status(401).json({ error: { code: 'unauthorized', message: 'The operator token is required' } })
    } else if (
      req.method !== 'GET' &&
      isCrossSite(req.get('sec-fetch-site'), req.get('origin'), req.get('host'))
    ) {
      res.status(403).json({ error: { code: 'forbidden', message: 'Changes are taken from this page only' } })
    } else {
      next()
    }
  }
}

function tokenOf(header: string): string | undefined {
  const [scheme = '', value = ''] = header.split(' ', 2)
  if (scheme.toLowerCase() === 'bearer') return value
  if (scheme.toLowerCase() !== 'basic') return undefined
  const credentials = Buffer.from(value, 'base64').toString('utf8')
  return credentials.slice(credentials.indexOf(':') + 1)
}

function isCrossSite(
  fetchSite: string | undefined,
  origin: string | undefined,
  host: string | undefined,
): boolean {
  if (fetchSite !== undefined) return fetchSite !== 'same-origin'
  if (origin === undefined) return false
  return !URL.canParse(origin) || new URL(origin).host !== host
}

/** Of equal length for any input, as the comparison needs. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
