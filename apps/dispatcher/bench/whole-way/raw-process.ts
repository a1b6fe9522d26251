// The raw limit of the whole way: accept with bare `node:http`, one group-committed insert, a signed POST. No queue, no
// retries, no checks.
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AddressGuard, guardedAgent } from '@signet/address-guard'
import { Batches, Db } from '@signet/db'
import { newEventId, newSigningSecret, type DeliveryId, type EventId } from '@signet/webhook-core'
import { deliveryHeaders } from '@signet/webhook-core/signature'
import type { Agent } from 'undici'
import { post } from '../../src/sending/http-sender.js'
import type { RawAsk, RawTell } from './messages.js'

process.once('message', (ask: RawAsk) => void listen(ask))
process.once('disconnect', () => process.exit())

type Event = { id: EventId; body: Buffer }

async function listen({ databaseUrl, receiverUrl, ca }: RawAsk): Promise<void> {
  const db = new Db({ connectionString: databaseUrl, max: 2 })
  const agent = guardedAgent({ guard: new AddressGuard({ allowPrivateTargets: true }), ca })
  const batches = new Batches<Event, void>({
    underWay: 1,
    async send(events) {
      await db.query(
        {
          name: 'insert',
          text: 'insert into events (id, body) select * from unnest($1::text[], $2::bytea[])',
        },
        [events.map(({ id }) => id), events.map(({ body }) => body)],
      )
      return events.map(() => undefined)
    },
  })
  const send = poster(agent, new URL(receiverUrl))
  const server = createServer((req, res) => {
    void accept(req, batches).then((event) => {
      res.writeHead(202, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ event_id: event.id, duplicate: false }))
      return send(event)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.send?.({ port: (server.address() as AddressInfo).port } satisfies RawTell)
}

/** Resolves once the event is durable. */
async function accept(req: IncomingMessage, batches: Batches<Event, void>): Promise<Event> {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk as Buffer)
  const id = newEventId(new Date())
  const data = JSON.parse(Buffer.concat(chunks).toString()) as object
  const event = { id, body: Buffer.from(JSON.stringify({ id, type: 'summary.completed', data })) }
  await batches.add(event)
  return event
}

function poster(agent: Agent, url: URL) {
  const secret = newSigningSecret()
  let sent = 0
  return async ({ id, body }: Event): Promise<void> => {
    const headers = deliveryHeaders({
      secret,
      timestamp: Math.floor(Date.now() / 1000),
      body,
      deliveryId: String((sent += 1)) as DeliveryId,
      eventId: id,
      eventType: 'summary.completed',
    })
    const result = await post(agent, { url, headers: { ...headers }, body }, 30_000).answered
    if (result.kind !== 'answered' || result.status !== 200)
      throw new Error(`unexpected: ${JSON.stringify(result)}`)
  }
}
