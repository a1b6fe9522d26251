import { createHash, timingSafeEqual } from 'node:crypto'
import type { RequestHandler } from 'express'

/**
 * Requires the operator token, as a Bearer token or as the password of Basic credentials, which browsers prompt for. Allows
 * only reads: a browser also attaches Basic credentials to requests that other sites trigger.
 */
export function readersWithToken(token: string): RequestHandler {
  const expected = digest(token)
  return (req, res, next) => {
    const given = tokenOf(req.get('authorization') ?? '')
    if (given === undefined || !timingSafeEqual(digest(given), expected)) {
      res.setHeader('WWW-Authenticate', 'Basic realm="Dispatcher", charset="UTF-8"')
      res.status(401).json({ error: { code: 'unauthorized', message: 'The operator token is required' } })
    } else if (req.method !== 'GET' && req.method !== 'HEAD') {
      res.setHeader('Allow', 'GET, HEAD')
      res
        .status(405)
        .json({ error: { code: 'bad_request', message: 'Use the `ops` command to change something' } })
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

/** The constant-time comparison needs inputs of equal length. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
