import type { RequestHandler } from 'express'

const PREFLIGHT = {
  'Access-Control-Allow-Methods': 'GET, POST, OPTIONS',
  // A `*` would not cover Authorization (Fetch standard).
  'Access-Control-Allow-Headers': 'Authorization, Content-Type, MCP-Protocol-Version',
  'Access-Control-Max-Age': '7200',
}

/**
 * CORS for browser-based clients (docs/specification.md#cors): any origin, never with credentials. Runs before limits and
 * authentication, so that clients can read their errors too.
 */
export const publicCors: RequestHandler = (req, res, next) => {
  res.setHeader('Access-Control-Allow-Origin', '*')
  res.setHeader('Access-Control-Expose-Headers', 'WWW-Authenticate, Retry-After')
  if (req.method !== 'OPTIONS') return next()
  for (const [name, value] of Object.entries(PREFLIGHT)) res.setHeader(name, value)
  res.status(204).end()
}

const V1_HEADERS = 'Authorization, Content-Type'
/** The headers that the transport of MCP defines, in addition to those of /v1. */
export const MCP_HEADERS = `${V1_HEADERS}, MCP-Protocol-Version, Mcp-Method, Mcp-Name`

/** CORS for /v1 and /mcp: only the origins that the operator listed. */
export function listedCors(origins: readonly string[], allowedHeaders = V1_HEADERS): RequestHandler {
  if (origins.length === 0) return (_req, _res, next) => next()
  return (req, res, next) => {
    res.vary('Origin')
    const origin = req.get('origin')
    if (origin === undefined || !origins.includes(origin)) return next()
    res.setHeader('Access-Control-Allow-Origin', origin)
    res.setHeader('Access-Control-Expose-Headers', 'WWW-Authenticate, Retry-After, X-Request-Id')
    if (req.method !== 'OPTIONS') return next()
    res.setHeader('Access-Control-Allow-Methods', 'GET, POST, PATCH, DELETE, OPTIONS')
    res.setHeader('Access-Control-Allow-Headers', allowedHeaders)
    res.setHeader('Access-Control-Max-Age', '7200')
    res.status(204).end()
  }
}
