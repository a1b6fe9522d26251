import type { RequestHandler } from 'express'

/** Captures name and port. */
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])(?::(\d+))?$/i

/**
 * Redirects browsers that opened this machine under one loopback name to the name that the service is known by, because cookies, forms
 * and passkeys belong to a single name. Applies only between loopback names on the same port. Other names are up to the proxy in front
 * (decision 0235).
 */
export function underOneLoopbackName(knownAs: string): RequestHandler {
  const { host, origin } = new URL(knownAs)
  const known = LOOPBACK.exec(host)
  if (known === null) return (_req, _res, next) => next()
  return (req, res, next) => {
    const asked = LOOPBACK.exec(req.get('host') ?? '')
    const isOther = asked !== null && asked[1]?.toLowerCase() !== known[1] && asked[2] === known[2]
    if (!isOther || (req.method !== 'GET' && req.method !== 'HEAD')) return next()
    res.set('Cache-Control', 'no-store').redirect(307, `${origin}${req.originalUrl}`)
  }
}
