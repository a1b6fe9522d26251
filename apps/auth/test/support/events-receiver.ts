import { createHmac, randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { listen, type Listener } from '@signet/http'

type Told = {
  id: string
  signedRight: boolean
  event: {
    type: string
    timestamp: string
    data: { user_id: string; banned_until?: string; session_ids?: string[] }
  }
}

const KEY = randomBytes(32)
export const EVENTS_SECRET = `whsec_${KEY.toString('base64')}`

/** A service that receives account events over a real socket. Tests can make it refuse them or hang. */
export async function startEventsReceiver() {
  const told: Told[] = []
  let status = 204
  let attempts = 0
  let hangs = false
  const hanging: ServerResponse[] = []
  const listener: Listener = await listen(
    (req, res) => {
      const chunks: Buffer[] = []
      req.on('data', (chunk: Buffer) => chunks.push(chunk))
      req.on('end', () => {
        attempts += 1
        if (hangs) return void hanging.push(res)
        const body = Buffer.concat(chunks).toString()
        const header = (name: string) => String(req.headers[name])
        const signed = `${header('webhook-id')}.${header('webhook-timestamp')}.${body}`
        const mac = createHmac('sha256', KEY).update(signed).digest('base64')
        if (status === 204)
          told.push({
            id: header('webhook-id'),
            signedRight: header('webhook-signature') === `v1,${mac}`,
            event: JSON.parse(body) as Told['event'],
          })
        res.writeHead(status).end()
      })
    },
    { port: 0, host: '127.0.0.1' },
  )
  return {
    url: `http://127.0.0.1:${listener.port}/internal/v1/account-events`,
    answerWith: (next: number) => (status = next),
    /** `true` makes it accept requests without answering them; `false` ends that, and closes the connections that still wait. */
    hang(value: boolean) {
      hangs = value
      if (!hangs) for (const res of hanging.splice(0)) res.destroy()
    },
    hanging: () => hanging.length,
    attempts: () => attempts,
    about: (userId: string) => told.filter(({ event }) => event.data.user_id === userId),
    close: () => listener.close(0),
  }
}
