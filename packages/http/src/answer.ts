import type { Response } from 'express'

const JSON_TYPE = 'application/json; charset=utf-8'
const TEXT_TYPE = 'text/plain; charset=utf-8'

/**
 * Sends text and bytes unchanged and anything else as JSON. Express's own `send` does more than these APIs need, and that costs time:
 * it computes entity tags, and copies the body into bytes, which splits head and body into two writes.
 */
export function sendBody(res: Response, status: number, body: unknown): void {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array
  const content = isRaw ? body : JSON.stringify(body)
  if (!res.hasHeader('Content-Type'))
    res.setHeader('Content-Type', typeof body === 'string' ? TEXT_TYPE : JSON_TYPE)
  res.setHeader('Content-Length', Buffer.byteLength(content))
  res.writeHead(status).end(content)
}

export function setHeaders(res: Response, headers: Readonly<Record<string, string>> = {}): void {
  for (const name in headers) res.setHeader(name, headers[name] ?? '')
}
