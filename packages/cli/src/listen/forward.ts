import { request as plainRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import { request as secureRequest } from 'node:https'
import { once } from 'node:events'

/** A local application's answer to a delivery, or why there was none. */
export type Answer = { durationMs: number } & (
  | { status: number; body: string }
  | { status: undefined; reason: string }
)

export type Delivery = {
  body: Uint8Array
  /** Alternating names and values, as Node provides them: names keep their case, and repeated headers their order. */
  rawHeaders: readonly string[]
}

/** Longer than the 5 s that the service waits, so that a slow application shows as slow. */
const TIME_LIMIT_MS = 30_000
/** How much of a response is shown. */
const KEPT_BYTES = 4096

// Headers that belong to one connection (RFC 9110 section 7.6.1). Length and host are set for the new connection.
const OF_THE_CONNECTION = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Posts the exact bytes and headers of a delivery to an address. If the application cannot be reached, the returned answer says so. */
export async function forward({ body, rawHeaders }: Delivery, target: URL): Promise<Answer> {
  const begin = performance.now()
  const durationMs = () => Math.round(performance.now() - begin)
  try {
    const send = target.protocol === 'https:' ? secureRequest : plainRequest
    const request = send(target, {
      method: 'POST',
      headers: [...endToEnd(rawHeaders), 'Host', target.host, 'Content-Length', String(body.byteLength)],
      signal: AbortSignal.timeout(TIME_LIMIT_MS),
      agent: false,
    })
    request.end(body)
    const response = await responseOf(request)
    const text = await beginningOf(response)
    return { status: response.statusCode ?? 0, body: text, durationMs: durationMs() }
  } catch (error) {
    return { status: undefined, reason: reasonOf(error), durationMs: durationMs() }
  }
}

function endToEnd(rawHeaders: readonly string[]): string[] {
  const kept: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2)
    if (!OF_THE_CONNECTION.has(name.toLowerCase())) kept.push(name, value)
  }
  return kept
}

async function responseOf(request: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

/** Returns the first bytes as text, without waiting for the rest. */
async function beginningOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= KEPT_BYTES) break
  }
  return Buffer.concat(chunks).subarray(0, KEPT_BYTES).toString('utf8')
}

function reasonOf(error: unknown): string {
  const { name, code, message } = error as NodeJS.ErrnoException
  if (name === 'AbortError' || name === 'TimeoutError') return `no response within ${TIME_LIMIT_MS / 1000} s`
  if (code === 'ECONNREFUSED') return 'nothing listens there'
  return code ?? message
}
