import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { callbackPage, type CallbackKind } from './callback-page.js'

export type CallbackServer = {
  redirectUri: string
  /** The parameters of the one callback that carries our state. */
  received: Promise<URLSearchParams>
  close: () => Promise<void>
}

const HOST = '127.0.0.1'
const PATH = '/callback'

/**
 * Listens on a free loopback port for the answer to one authorization request (RFC 8252, section 7.3). Any page in the browser can send
 * requests here, so requests without our state change nothing, and only the first one with it counts.
 */
export async function startCallbackServer(state: string): Promise<CallbackServer> {
  let settle: (parameters: URLSearchParams) => void
  const received = new Promise<URLSearchParams>((resolve) => (settle = resolve))
  let isSettled = false

  const server = createServer((request, response) => {
    const { port } = server.address() as AddressInfo
    const parameters = callbackParameters(request, `${HOST}:${port}`)
    const { 'accept-language': language } = request.headers
    const answer = (status: number, kind: CallbackKind) =>
      send(response, status, callbackPage(kind, language))
    if (parameters === null) return answer(404, 'foreign')
    if (isSettled || parameters.get('state') !== state) return answer(400, 'foreign')
    isSettled = true
    answer(200, parameters.has('code') ? 'received' : 'denied')
    // Resolves after the page has been sent, because the listener is closed next.
    response.once('close', () => settle(parameters))
  })
  server.listen(0, HOST)
  await once(server, 'listening')

  return {
    redirectUri: `http://${HOST}:${(server.address() as AddressInfo).port}${PATH}`,
    received,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** Returns null for anything but a GET of the redirect URI. */
function callbackParameters(request: IncomingMessage, host: string): URLSearchParams | null {
  const { method, url = '', headers } = request
  if (method !== 'GET' || headers.host !== host || !URL.canParse(url, `http://${host}`)) return null
  const { pathname, searchParams } = new URL(url, `http://${host}`)
  return pathname === PATH ? searchParams : null
}

function send(
  response: ServerResponse,
  status: number,
  { headers, body }: ReturnType<typeof callbackPage>,
): void {
  response.writeHead(status, { ...headers, connection: 'close' }).end(body)
}
