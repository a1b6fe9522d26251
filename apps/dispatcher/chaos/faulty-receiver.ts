import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { issueCertificate, type Authority } from '@signet/local'
import { verify } from '@signet/webhook-verify'

/** A verified request. `answeredAt` is null if it was not answered with 200. */
export type ReceivedRequest = {
  eventId: string
  deliveryId: string
  path: string
  at: number
  answeredAt: number | null
}

export type FaultyReceiver = {
  url(path: string): string
  /** Oldest first. */
  requests: ReceivedRequest[]
  /** Number of requests that are being answered. */
  readonly open: number
  /** Number of requests with a wrong signature or body. */
  readonly refused: number
  setSecret(path: string, secret: string): void
  close(): void
}

/** More than any fault sets a clock wrong. A stricter receiver refuses those attempts, and gets the event with a retry. */
const CLOCK_TOLERANCE_SECONDS = 1200

/** Starts a receiver in a bad mood: it answers most requests after a moment, some late, some with 500, some never. */
export async function startFaultyReceiver(
  authority: Authority,
  random: () => number,
): Promise<FaultyReceiver> {
  const secrets = new Map<string, string>()
  const requests: ReceivedRequest[] = []
  let open = 0
  let refused = 0

  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const path = request.url ?? '/'
    const event = verify(Buffer.concat(chunks), request.headers, secrets.get(path) ?? '', {
      toleranceSeconds: CLOCK_TOLERANCE_SECONDS,
    })
    const received: ReceivedRequest = {
      eventId: event.id,
      deliveryId: String(request.headers['x-service-delivery']),
      path,
      at: Date.now(),
      answeredAt: null,
    }
    requests.push(received)
    const mood = random()
    if (mood < 0.01) return // no answer at all: the sender gives up
    if (mood < 0.02) return void request.socket.destroy()
    await new Promise((resolve) => setTimeout(resolve, mood < 0.05 ? 2000 : 10 + 100 * random()))
    if (mood > 0.93) return void response.writeHead(500).end()
    response.writeHead(200).end('ok', () => (received.answeredAt = Date.now()))
  }

  const server = createServer(await issueCertificate(authority), (request, response) => {
    open += 1
    response.once('close', () => (open -= 1))
    take(request, response).catch(() => {
      // The sender was killed before it had sent the whole request.
      if (!request.complete) return
      refused += 1
      response.writeHead(401).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: (path) => `https://127.0.0.1:${port}${path}`,
    requests,
    get open() {
      return open
    },
    get refused() {
      return refused
    },
    setSecret: (path, secret) => void secrets.set(path, secret),
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
