import type { WebhookEvent } from './events.js'
import type { HandlerOptions } from './handler-options.js'
import type { HeaderSource } from './headers.js'
import { createReceiver, refusalOf, type Refusal } from './receiver.js'
import type { RawBody } from './signature.js'

export type FastifyPluginOptions = HandlerOptions & {
  /** Path at which deliveries arrive, below the prefix of the registration. */
  path: string
}

/** The parts of Fastify that this uses, so that users of other servers need not install its types. */
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
 * `onEvent` is done and has not replied itself, and 400 with the reason if the delivery is refused. Fastify answers 413 if the body
 * exceeds the limit, and 500 if `onEvent` fails, which makes the sender try again. The route reads raw bodies no matter which parsers
 * the server has, and does not change those. Throws immediately if the secret cannot be used.
 */
export function webhookPlugin(
  { path, ...options }: FastifyPluginOptions,
  onEvent: (event: WebhookEvent, request: RequestLike, reply: ReplyLike) => void | Promise<void>,
): (instance: FastifyLike) => Promise<void> {
  const receiver = createReceiver(options)
  const bodyLimit = receiver.maxBytes
  return (instance) => {
    // A plugin has its own context, so these changes affect only this route.
    instance.removeAllContentTypeParsers()
    instance.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body, done) =>
      done(null, body),
    )
    instance.post(path, { bodyLimit }, async (request, reply) => {
      // Fastify provides no body at all if it is empty.
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
