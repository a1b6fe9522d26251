import type { WebhookEvent } from './events.js'
import type { HandlerOptions } from './handler-options.js'
import type { HeaderSource } from './headers.js'
import { createReceiver, refusalOf, type Refusal } from './receiver.js'
import type { RawBody } from './signature.js'

export type FastifyPluginOptions = HandlerOptions & {
  /** Where deliveries arrive, below the prefix of the registration. */
  path: string
}

/** The parts of Fastify that are used, so that its types need not be installed for another server. */
type ParserDone = (error: Error | null, body?: unknown) => void
type FastifyLike = {
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(
    contentType: string,
    options: { parseAs: 'buffer'; bodyLimit: number },
    parser: (request: never, body: Buffer, done: ParserDone) => void,
  ): unknown
  post(
    path: string,
    options: { bodyLimit: number },
    handler: (request: RequestLike, reply: ReplyLike) => Promise<unknown>,
  ): unknown
}
type RequestLike = { headers: HeaderSource; body: unknown }
type ReplyLike = {
  sent: boolean
  code(status: number): ReplyLike
  headers(values: Record<string, string>): ReplyLike
  send(body?: string): ReplyLike
}

/**
 * A Fastify plugin with one POST route that verifies the delivery, then calls `onEvent` with the typed event. Answers 204 when
 * `onEvent` is done and has not replied itself, 400 with the reason for a refused delivery; Fastify answers 413 to a body over
 * the limit, and 500 when `onEvent` fails, which makes the sender try again. The route reads raw bodies no matter which parsers
 * the server has, and leaves those alone. Throws at once when the secret cannot be used.
 */
export function webhookPlugin(
  { path, ...options }: FastifyPluginOptions,
  onEvent: (event: WebhookEvent, request: RequestLike, reply: ReplyLike) => void | Promise<void>,
): (instance: FastifyLike) => Promise<void> {
  const receiver = createReceiver(options)
  const bodyLimit = receiver.maxBytes
  return (instance) => {
    // A plugin has its own context: what is removed and added here affects only this route.
    instance.removeAllContentTypeParsers()
    instance.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body, done) =>
      done(null, body),
    )
    instance.post(path, { bodyLimit }, async (request, reply) => {
      // Fastify gives no body at all for an empty one.
      const accepted = receiver.accept((request.body ?? '') as RawBody, request.headers)
      if ('refusal' in accepted) return refuse(reply, accepted.refusal)
      try {
        await onEvent(accepted.event, request, reply)
      } catch (error) {
        const refusal = refusalOf(error)
        if (refusal === undefined) throw error
        return refuse(reply, refusal)
      }
      return reply.sent ? reply : reply.code(204).send()
    })
    return Promise.resolve()
  }
}

const refuse = (reply: ReplyLike, { status, headers, body }: Refusal): ReplyLike =>
  reply.code(status).headers(headers).send(body)
