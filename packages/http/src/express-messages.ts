import { IncomingMessage, ServerResponse, type RequestListener, type ServerOptions } from 'node:http'

type MessageClasses = Required<Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'>>

/**
 * Classes whose objects already have the prototypes that an Express application gives each request and answer when it
 * takes them over. Changing the prototype of a live object is among the slowest things JavaScript can do: it costs every
 * later access its inline cache, in Node's own code too (decision 0152).
 */
export function messageClassesOf(app: RequestListener): MessageClasses | undefined {
  const { request, response } = app as { request?: object; response?: object }
  if (request === undefined || response === undefined) return undefined
  return {
    IncomingMessage: withPrototype(IncomingMessage, request),
    ServerResponse: withPrototype(ServerResponse, response),
  }
}

/**
 * Node's classes are functions, so they can be called on an object that another constructor made. The new constructor inherits from the
 * base, which tells V8 how many properties its objects get: an answer with many more than expected becomes a dictionary, and every
 * access to it is slow.
 */
function withPrototype<Base extends typeof IncomingMessage | typeof ServerResponse>(
  base: Base,
  prototype: object,
): Base {
  function Message(this: object, ...args: unknown[]): void {
    Reflect.apply(base as unknown as (...args: unknown[]) => void, this, args)
  }
  Object.setPrototypeOf(Message, base)
  Message.prototype = prototype
  return Message as unknown as Base
}
