import { WebhookVerificationError } from './errors.js'
import { type WebhookEvent } from './events.js'
import { DEFAULT_MAX_BYTES, type HandlerOptions } from './handler-options.js'
import { verify } from './verify.js'

export { type HandlerOptions } from './handler-options.js'

/**
 * A `Request` to `Response` handler for servers in the Fetch style (Next.js routes, Hono, Deno, Bun, Workers with Node
 * compatibility). Answers 204 unless `onEvent` returns a response, 400 with the reason for a refused delivery, 413 for a
 * body over the limit; an exception of `onEvent` is left to the server, whose 5xx makes the sender try again.
 */
export function webhookHandler(
  { secret, maxBytes = DEFAULT_MAX_BYTES, ...options }: HandlerOptions,
  onEvent: (event: WebhookEvent, request: Request) => Response | void | Promise<Response | void>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const rawBody = await readBody(request, maxBytes)
    if (rawBody === undefined) return refusal(413, 'body_too_large')
    let event: WebhookEvent
    try {
      event = verify(rawBody, request.headers, secret, options)
    } catch (error) {
      if (error instanceof WebhookVerificationError) return refusal(400, error.code)
      throw error
    }
    return (await onEvent(event, request)) ?? new Response(null, { status: 204 })
  }
}

async function readBody(request: Request, maxBytes: number): Promise<Uint8Array | undefined> {
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
