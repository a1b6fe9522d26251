import { createHash, timingSafeEqual } from 'node:crypto'
import type { Request, RequestHandler } from 'express'

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
  const credentials = basicCredentials(header)
  return credentials?.slice(credentials.indexOf(':') + 1)
}

/** The name that an operator gave with the token. Nobody checks it: a help for readers of the log, not a proof. */
export function operatorName(req: Request): string {
  const credentials = basicCredentials(req.get('authorization') ?? '') ?? ''
  const name = credentials.slice(0, Math.max(0, credentials.indexOf(':')))
  return name.replace(/[^\p{L}\p{N} ._@+-]/gu, '').slice(0, 100)
}

function basicCredentials(header: string): string | undefined {
  const [scheme = '', value = ''] = header.split(' ', 2)
  return scheme.toLowerCase() === 'basic' ? Buffer.from(value, 'base64').toString('utf8') : undefined
}

/** The constant-time comparison needs inputs of equal length. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
