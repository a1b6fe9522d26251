import { type IncomingMessage, type ServerResponse } from 'node:http'
import { RawBodyRequiredError, WebhookVerificationError } from './errors.js'
import { type WebhookEvent } from './events.js'
import { DEFAULT_MAX_BYTES, type HandlerOptions } from './handler-options.js'
import { verify } from './verify.js'

export { type HandlerOptions } from './handler-options.js'

/** What Express 4, Express 5 and plain `node:http` requests share. */
type Incoming = IncomingMessage & { body?: unknown }
type Handler<Req, Res> = (event: WebhookEvent, req: Req, res: Res) => void | Promise<void>

/**
 * An Express handler that verifies the delivery, then calls `onEvent` with the typed event. Answers 204 when `onEvent`
 * is done and has not answered itself, 400 with the reason for a refused delivery, 413 for a body over the limit;
 * an exception of `onEvent` goes to `next`, whose 5xx makes the sender try again.
 */
export function webhookHandler<Req extends Incoming, Res extends ServerResponse>(
  { secret, maxBytes = DEFAULT_MAX_BYTES, ...options }: HandlerOptions,
  onEvent: Handler<Req, Res>,
): (req: Req, res: Res, next: (error?: unknown) => void) => Promise<void> {
  return async (req, res, next) => {
    try {
      const rawBody = await rawBodyOf(req, maxBytes)
      if (rawBody === undefined) return refuse(res, 413, 'body_too_large')
      await onEvent(verify(rawBody, req.headers, secret, options), req, res)
      if (!res.headersSent) res.writeHead(204).end()
    } catch (error) {
      if (error instanceof WebhookVerificationError) refuse(res, 400, error.code)
      else next(error)
    }
  }
}

/** The bytes as received, from a raw parser mounted before or read here; undefined when over the limit. */
async function rawBodyOf(req: Incoming, maxBytes: number): Promise<Uint8Array | string | undefined> {
  if (req.body instanceof Uint8Array || typeof req.body === 'string') {
    return Buffer.byteLength(req.body) > maxBytes ? undefined : req.body
  }
  if (req.readableDidRead || req.readableEnded) throw new RawBodyRequiredError()
  const chunks: Uint8Array[] = []
  let size = 0
  // Leaving the loop must not destroy the socket that carries our 413.
  for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}

function refuse(res: ServerResponse, status: number, code: string) {
  res.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
  res.end(JSON.stringify({ error: code }))
}
