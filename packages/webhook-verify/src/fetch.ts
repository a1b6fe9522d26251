import { Buffer } from 'node:buffer'
import { RawBodyRequiredError } from './errors.js'
import type { WebhookEvent } from './events.js'
import type { HandlerOptions } from './handler-options.js'
import { createReceiver, refusalOf, type Refusal } from './receiver.js'

export type { HandlerOptions } from './handler-options.js'

/**
 * A `Request` to `Response` handler for servers in the Fetch style (Next.js routes, Hono, Deno, Bun, Workers with Node compatibility).
 * Answers 204 unless `onEvent` returns a response, 400 with the reason if the delivery is refused, and 413 if the body exceeds the
 * limit. An exception of `onEvent`, and a body that was already read, are left to the server, whose 5xx makes the sender try again.
 * Throws immediately if the secret cannot be used.
 */
export function webhookHandler(
  options: HandlerOptions,
  onEvent: (event: WebhookEvent, request: Request) => Response | void | Promise<Response | void>,
): (request: Request) => Promise<Response> {
  const receiver = createReceiver(options)
  return async (request) => {
    const accepted = receiver.accept(await readBody(request, receiver.maxBytes), request.headers)
    if ('refusal' in accepted) return responseOf(accepted.refusal)
    try {
      return (await onEvent(accepted.event, request)) ?? new Response(null, { status: 204 })
    } catch (error) {
      const refusal = refusalOf(error)
      if (refusal === undefined) throw error
      return responseOf(refusal)
    }
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

const responseOf = ({ status, headers, body }: Refusal): Response => new Response(body, { status, headers })
