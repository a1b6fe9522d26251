import type { RequestHandler } from 'express'

const ALLOWED_HEADERS = [
  'Accept',
  'Authorization',
  'Content-Type',
  'X-Client-IP',
  'X-Client-Info',
  'X-JWT-AUD',
  'x-use-cookie',
  'X-Supabase-Api-Version',
  'apikey',
]

/** docs/specification.md#cors. Mounted first, so that preflights need no token and count against no limit. */
export function cors(extraHeaders: readonly string[]): RequestHandler {
  const preflight = {
    'Access-Control-Allow-Methods': 'GET, POST, PUT, PATCH, DELETE',
    'Access-Control-Allow-Headers': [...ALLOWED_HEADERS, ...extraHeaders].join(', '),
    'Access-Control-Max-Age': '600',
  }
  return (req, res, next) => {
    res.setHeader('Access-Control-Allow-Origin', '*')
    res.setHeader('Access-Control-Expose-Headers', 'X-Total-Count, Link, X-Supabase-Api-Version, Retry-After')
    if (req.method !== 'OPTIONS') return next()
    res.set(preflight).status(204).end()
  }
}
