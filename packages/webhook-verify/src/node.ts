import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HandlerOptions } from './handler-options.js'
import { receive, type OnEvent } from './node-request.js'
import { createReceiver } from './receiver.js'

export type NodeHandlerOptions = HandlerOptions & {
  /** Gets what `onEvent` threw; the response is a 500. By default it is written to the console. */
  onError?: (error: unknown) => void
}

/**
 * A handler for `node:http` and `node:https` that verifies the delivery, then calls `onEvent` with the typed event. Answers
 * 204 when `onEvent` is done and has not answered itself, 400 with the reason for a refused delivery, 413 for a body over the
 * limit, 500 when `onEvent` fails, which makes the sender try again. Throws at once when the secret cannot be used.
 */
export function webhookHandler(
  // oxlint-disable-next-line no-console -- a plain server has no other place where its owner looks
  { onError = console.error, ...options }: NodeHandlerOptions,
  onEvent: OnEvent<IncomingMessage, ServerResponse>,
): (req: IncomingMessage, res: ServerResponse) => Promise<void> {
  const receiver = createReceiver(options)
  return async (req, res) => {
    try {
      await receive(receiver, onEvent, { req, res })
    } catch (error) {
      onError(error)
      // The response may already have started: then only a broken connection tells the sender.
      if (res.headersSent) res.destroy()
      else res.writeHead(500, { 'content-type': 'application/json' }).end('{"error":"internal"}')
    }
  }
}
