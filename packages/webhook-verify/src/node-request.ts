import { Buffer } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { RawBodyRequiredError } from './errors.js'
import type { WebhookEvent } from './events.js'
import { refusalOf, type Receiver, type Refusal } from './receiver.js'

/** The common part of requests of Express 4, Express 5 and plain `node:http`. */
export type Incoming = IncomingMessage & { body?: unknown; rawBody?: unknown }
export type OnEvent<Req, Res> = (event: WebhookEvent, req: Req, res: Res) => void | Promise<void>

/** Answers the request, or throws an error that the server must handle. */
export async function receive<Req extends Incoming, Res extends ServerResponse>(
  receiver: Receiver,
  onEvent: OnEvent<Req, Res>,
  { req, res }: { req: Req; res: Res },
): Promise<void> {
  const accepted = receiver.accept(await rawBodyOf(req, receiver.maxBytes), req.headers)
  if ('refusal' in accepted) return refuse(res, accepted.refusal)
  try {
    await onEvent(accepted.event, req, res)
  } catch (error) {
    const refusal = refusalOf(error)
    if (refusal === undefined) throw error
    return refuse(res, refusal)
  }
  if (!res.headersSent) res.writeHead(204).end()
}

/** Returns the bytes as received: those that middleware kept or parsed as raw, or those that it reads now. Undefined if over the limit. */
async function rawBodyOf(req: Incoming, maxBytes: number): Promise<Uint8Array | string | undefined> {
  const known = [req.rawBody, req.body].find(isRaw)
  if (known !== undefined) return Buffer.byteLength(known) > maxBytes ? undefined : known
  if (req.readableDidRead || req.readableEnded) throw new RawBodyRequiredError()
  const chunks: Uint8Array[] = []
  let size = 0
  // Leaving the loop must not destroy the socket that carries our 413.
  for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}

const isRaw = (body: unknown): body is Uint8Array | string =>
  typeof body === 'string' || ArrayBuffer.isView(body)

function refuse(res: ServerResponse, { status, headers, body }: Refusal): void {
  // A body over the limit was not read completely, so the connection cannot be reused.
  res.writeHead(status, { ...headers, connection: 'close' }).end(body)
}
