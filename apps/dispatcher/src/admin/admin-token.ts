import { createHash, timingSafeEqual } from 'node:crypto'
import { clientAddress } from '@signet/http'
import type { Limit, Limiter } from '@signet/rate-limits'
import { clientNetwork } from '@signet/rate-limits/network'
import type { Request, RequestHandler } from 'express'
import type { Observer } from '../observers/observer.js'

export type TokenGuardDeps = {
  token: string
  limiter: Limiter
  observer: Pick<Observer, 'operatorRefused'>
}

/** More than a browser requests in a burst, so that only guessing reaches the limit. After it, six guesses a minute are checked. */
const GUESSES = { amount: 30, everyMs: 10_000 }

/**
 * Requires the operator token, as a Bearer token or as the password of Basic credentials, which browsers prompt for. Allows only
 * reads: a browser also attaches Basic credentials to requests that other sites trigger. Wrong tokens count against the address they
 * come from (for IPv6, its /64, because one machine can use every address in it). They count in advance, so that parallel guesses
 * cannot all use the last free one.
 */
export function readersWithToken({ token, limiter, observer }: TokenGuardDeps): RequestHandler {
  const expected = digest(token)
  return async (req, res, next) => {
    const address = clientAddress(req, 0)
    const refuse = (status: number, code: string, message: string) =>
      void res.status(status).json({ error: { code, message } })
    const given = tokenOf(req.get('authorization') ?? '')
    // A browser first sends a request without a token, and expects to be asked for one.
    if (given === undefined) return askForToken()
    const guess: Limit = { key: `operator:${clientNetwork(address)}`, ...GUESSES }
    const { waitMs, taken } = await limiter.take([guess])
    if (waitMs > 0) {
      observer.operatorRefused('limited', address)
      res.setHeader('Retry-After', String(Math.ceil(waitMs / 1000)))
      return refuse(429, 'too_many_requests', 'Too many wrong tokens from this network')
    }
    if (!timingSafeEqual(digest(given), expected)) {
      observer.operatorRefused('wrong', address)
      return askForToken()
    }
    await limiter.putBack(taken)
    if (req.method === 'GET' || req.method === 'HEAD') return next()
    res.setHeader('Allow', 'GET, HEAD')
    refuse(405, 'bad_request', 'Use the `ops` command to change something')

    function askForToken(): void {
      res.setHeader('WWW-Authenticate', 'Basic realm="Dispatcher", charset="UTF-8"')
      refuse(401, 'unauthorized', 'The operator token is required')
    }
  }
}

function tokenOf(header: string): string | undefined {
  const [scheme = '', value = ''] = header.split(' ', 2)
  if (scheme.toLowerCase() === 'bearer') return value
  const credentials = basicCredentials(header)
  return credentials?.slice(credentials.indexOf(':') + 1)
}

/** The name that an operator gave with the token. It is not checked: it helps readers of the log and proves nothing. */
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
