import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HandlerOptions } from './handler-options.js'
import { receive, type OnEvent } from './node-request.js'
import { createReceiver } from './receiver.js'

export type NodeHandlerOptions = HandlerOptions & {
  /** Called with the error that `onEvent` threw; the response is a 500. By default, the error is written to the console. */
  onError?: (error: unknown) => void
}

/**
 * A handler for `node:http` and `node:https` that verifies the delivery, then calls `onEvent` with the typed event. Answers 204 when
 * `onEvent` is done and has not answered itself, 400 with the reason if the delivery is refused, 413 if the body exceeds the limit, and
 * 500 if `onEvent` fails, which makes the sender try again. Throws immediately if the secret cannot be used.
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
      // The response may have started already. Then only a broken connection tells the sender.
      if (res.headersSent) res.destroy()
      else res.writeHead(500, { 'content-type': 'application/json' }).end('{"error":"internal"}')
    }
  }
}
