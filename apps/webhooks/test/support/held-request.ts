import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'

type Held = { method: string; token: string; body: unknown; headers?: Record<string, string> }

/** Sends the headers of a request, but not its body. `finish` sends the body and resolves with the answer. */
export function heldRequest(url: string, { method, token, body, headers = {} }: Held) {
  const payload = JSON.stringify(body)
  const sending = request(url, {
    method,
    agent: false,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(payload),
      ...headers,
    },
  })
  sending.flushHeaders()
  const answered = once(sending, 'response') as Promise<[IncomingMessage]>
  // A test that fails before it calls `finish` must not fail again by an unhandled rejection.
  answered.catch(() => undefined)
  return {
    async finish(): Promise<{ status: number | undefined; text: string; challenge: string | undefined }> {
      sending.end(payload)
      const [response] = await answered
      const { statusCode: status, headers: received } = response
      return { status, text: await text(response), challenge: received['www-authenticate'] }
    },
  }
}
