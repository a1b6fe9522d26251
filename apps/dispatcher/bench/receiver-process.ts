// A receiver that costs as little as an HTTPS server can: it counts, notes when each event arrived, and answers 200.
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { ReceiverAsk, ReceiverTell } from './messages.js'

/** Our envelope begins with its id; another product may put a few members before the published data. */
const HEAD_BYTES = 1024
const EVENT_ID = /evt_[0-9a-f]{32}/

const send = (message: ReceiverTell) => process.send?.(message)
let count = 0
let arrivals: [eventId: string, at: number][] = []
let noting = false

process.on('message', (ask: ReceiverAsk) => {
  if (ask.kind === 'listen') void listen(ask)
  else if (ask.kind === 'note') noting = true
  else if (!ask.arrivals) send({ kind: 'count', count, arrivals: [] })
  else {
    send({ kind: 'count', count, arrivals })
    arrivals = []
    noting = false
  }
})
process.once('disconnect', () => process.exit())

async function listen({ key, cert }: { key: string; cert: string }): Promise<void> {
  const server = createServer({ key, cert, keepAliveTimeout: 60_000 }, (request, response) => {
    const hangs = request.url?.startsWith('/hang') === true
    let head = ''
    request.on('data', (chunk: Buffer) => {
      if (noting && head === '') head = chunk.toString('latin1', 0, HEAD_BYTES)
    })
    request.on('end', () => {
      if (hangs) return
      count += 1
      if (noting) arrivals.push([EVENT_ID.exec(head)?.[0] ?? '', Date.now()])
      response.writeHead(200, { 'content-length': '2' }).end('ok')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  send({ kind: 'listening', port: (server.address() as AddressInfo).port })
}
