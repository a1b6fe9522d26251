import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'

type WantsSocket = { sentOn(socket: Socket): void }

let starting: WantsSocket | undefined

/**
 * Call it from `onRequestStart`: tells the handler which connection its request is written to, which no method of a handler
 * does. `undici` publishes that in the same turn, right after `onRequestStart` and with nothing in between.
 */
export function awaitSocket(handler: WantsSocket): void {
  starting = handler
}

subscribe('undici:client:sendHeaders', (message) => {
  const handler = starting
  starting = undefined
  handler?.sentOn((message as { socket: Socket }).socket)
})
