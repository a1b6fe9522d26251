import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'

type SocketObserver = { onRequestSocket(socket: Socket): void }

let starting: SocketObserver | undefined

/**
 * Call it from `onRequestStart`: tells the handler which connection its request is written to, which no method of a handler
 * does. `undici` publishes that in the same turn, right after `onRequestStart` and with nothing in between.
 */
export function observeRequestSocket(handler: SocketObserver): void {
  starting = handler
}

subscribe('undici:client:sendHeaders', (message) => {
  const handler = starting
  starting = undefined
  handler?.onRequestSocket((message as { socket: Socket }).socket)
})
