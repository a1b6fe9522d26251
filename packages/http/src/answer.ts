import { type Response } from 'express'

const JSON_TYPE = 'application/json; charset=utf-8'
const TEXT_TYPE = 'text/plain; charset=utf-8'

/**
 * Sends text as it is and all else as JSON. What Express's own `send` does besides costs much and brings nothing here:
 * entity tags, which these APIs do not have, and a copy of the body as bytes, with which head and body are two writes.
 */
export function sendBody(res: Response, status: number, body: unknown): void {
  const isText = typeof body === 'string'
  const text = isText ? body : JSON.stringify(body)
  if (!res.hasHeader('Content-Type')) res.setHeader('Content-Type', isText ? TEXT_TYPE : JSON_TYPE)
  res.setHeader('Content-Length', Buffer.byteLength(text))
  res.writeHead(status).end(text)
}

export function setHeaders(res: Response, headers: Readonly<Record<string, string>> = {}): void {
  for (const name in headers) res.setHeader(name, headers[name] ?? '')
}
