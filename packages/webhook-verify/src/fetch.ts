import { Buffer } from 'node:buffer'
import { RawBodyRequiredError, WebhookVerificationError } from './errors.js'
import type { WebhookEvent } from './events.js'
import { DEFAULT_MAX_BYTES, type HandlerOptions } from './handler-options.js'
import { secretsOf } from './secret.js'
import { verify } from './verify.js'

export type { HandlerOptions } from './handler-options.js'

/**
 * A `Request` to `Response` handler for servers in the Fetch style (Next.js routes, Hono, Deno, Bun, Workers with Node
 * compatibility). Answers 204 unless `onEvent` returns a response, 400 with the reason for a refused delivery, 413 for a
 * body over the limit; an exception of `onEvent`, and a body that was read before, are left to the server, whose 5xx makes
 * the sender try again. Throws at once when the secret cannot be used.
 */
export function webhookHandler(
  { secret, maxBytes = DEFAULT_MAX_BYTES, onRefusal, ...options }: HandlerOptions,
  onEvent: (event: WebhookEvent, request: Request) => Response | void | Promise<Response | void>,
): (request: Request) => Promise<Response> {
  const secrets = secretsOf(secret)
  return async (request) => {
    const rawBody = await readBody(request, maxBytes)
    if (rawBody === undefined) return refusal(413, 'body_too_large')
    let event: WebhookEvent
    try {
      event = verify(rawBody, request.headers, secrets, options)
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error
      onRefusal?.(error)
      return refusal(400, error.code)
    }
    return (await onEvent(event, request)) ?? new Response(null, { status: 204 })
  }
}

async function readBody(request: Request, maxBytes: number): Promise<Uint8Array | undefined> {
  if (request.bodyUsed || request.body?.locked) throw new RawBodyRequiredError()
  if (request.body === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let size = 0
  // Leaving the loop cancels the stream, so a sender cannot make us hold more than the limit.
  for await (const chunk of request.body as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}

function refusal(status: number, code: string): Response {
  return Response.json({ error: code }, { status })
}
