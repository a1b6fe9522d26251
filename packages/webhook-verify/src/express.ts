import type { ServerResponse } from 'node:http'
import type { HandlerOptions } from './handler-options.js'
import { receive, type Incoming, type OnEvent } from './node-request.js'
import { createReceiver } from './receiver.js'

export type { HandlerOptions } from './handler-options.js'

/**
 * An Express handler that verifies the delivery, then calls `onEvent` with the typed event. Answers 204 when `onEvent` is done and has
 * not answered itself, 400 with the reason if the delivery is refused, and 413 if the body exceeds the limit. An exception of
 * `onEvent`, and a body that was already read, go to `next`, whose 5xx makes the sender try again. Throws immediately if the secret
 * cannot be used.
 */
export function webhookHandler<Req extends Incoming, Res extends ServerResponse>(
  options: HandlerOptions,
  onEvent: OnEvent<Req, Res>,
): (req: Req, res: Res, next: (error?: unknown) => void) => Promise<void> {
  const receiver = createReceiver(options)
  return async (req, res, next) => {
    try {
      await receive(receiver, onEvent, { req, res })
    } catch (error) {
      next(error)
    }
  }
}
