import { Buffer } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { RawBodyRequiredError, WebhookVerificationError } from './errors.js'
import type { WebhookEvent } from './events.js'
import { DEFAULT_MAX_BYTES, type HandlerOptions } from './handler-options.js'
import { secretsOf } from './secret.js'
import { verify } from './verify.js'

export type { HandlerOptions } from './handler-options.js'

/** What Express 4, Express 5 and plain `node:http` requests share. */
type Incoming = IncomingMessage & { body?: unknown; rawBody?: unknown }
type Handler<Req, Res> = (event: WebhookEvent, req: Req, res: Res) => void | Promise<void>

/**
 * An Express handler that verifies the delivery, then calls `onEvent` with the typed event. Answers 204 when `onEvent`
 * is done and has not answered itself, 400 with the reason for a refused delivery, 413 for a body over the limit;
 * an exception of `onEvent`, and a body that was read before, go to `next`, whose 5xx makes the sender try again.
 * Throws at once when the secret cannot be used.
 */
export function webhookHandler<Req extends Incoming, Res extends ServerResponse>(
  { secret, maxBytes = DEFAULT_MAX_BYTES, onRefusal, ...options }: HandlerOptions,
  onEvent: Handler<Req, Res>,
): (req: Req, res: Res, next: (error?: unknown) => void) => Promise<void> {
  const secrets = secretsOf(secret)

  /** The event, or undefined when the delivery was refused and answered. */
  async function accept(req: Req, res: Res): Promise<WebhookEvent | undefined> {
    const rawBody = await rawBodyOf(req, maxBytes)
    if (rawBody === undefined) return refuse(res, 413, 'body_too_large')
    try {
      return verify(rawBody, req.headers, secrets, options)
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error
      onRefusal?.(error)
      return refuse(res, 400, error.code)
    }
  }

  return async (req, res, next) => {
    try {
      const event = await accept(req, res)
      if (event === undefined) return
      await onEvent(event, req, res)
      if (!res.headersSent) res.writeHead(204).end()
    } catch (error) {
      next(error)
    }
  }
}

/** The bytes as received, kept or parsed raw before or read here; undefined when over the limit. */
async function rawBodyOf(req: Incoming, maxBytes: number): Promise<Uint8Array | string | undefined> {
  const known = [req.rawBody, req.body].find(isRaw)
  if (known !== undefined) return Buffer.byteLength(known) > maxBytes ? undefined : known
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

const isRaw = (body: unknown): body is Uint8Array | string =>
  typeof body === 'string' || ArrayBuffer.isView(body)

function refuse(res: ServerResponse, status: number, code: string): undefined {
  res.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
  res.end(JSON.stringify({ error: code }))
}
