// Shared by the raw limit and the BullMQ comparison: only the product's own signing and sending.
import { randomBytes } from 'node:crypto'
import { AddressGuard, guardedAgent } from '@signet/address-guard'
import { newEventId, newSigningSecret, type DeliveryId } from '@signet/webhook-core'
import { deliveryHeaders } from '@signet/webhook-core/signature'
import type { Dispatcher } from 'undici'
import { post } from '../src/sending/http-sender.js'
import type { SendAsk, SendTell } from './messages.js'

export const CONCURRENCY = 100

export type Send = (number: number) => Promise<void>

/** Returns a function that signs a body of the wanted size and posts it to the next URL. */
function createPoster({ urls, bytes }: SendAsk, agent: Dispatcher): Send {
  const text = randomBytes(bytes).toString('base64')
  const body = Buffer.from(JSON.stringify({ id: 'evt_raw', text: text.slice(0, bytes - 28) }))
  const targets = urls.map((url) => new URL(url))
  const secret = newSigningSecret()
  const eventId = newEventId(new Date())
  return async (number) => {
    const url = targets[number % targets.length]
    if (!url) throw new Error('no url')
    const headers = deliveryHeaders({
      secret,
      timestamp: Math.floor(Date.now() / 1000),
      body,
      deliveryId: String(number) as DeliveryId,
      eventId,
      eventType: 'summary.completed',
    })
    const result = await post(agent, { url, headers: { ...headers }, body }, 5000).answered
    if (result.kind !== 'answered' || result.status !== 200)
      throw new Error(`unexpected: ${JSON.stringify(result)}`)
  }
}

/**
 * Serves one kind of run in a separate process, so that each kind has its own event loop and heap. Every run opens new
 * connections, as the pipeline does, whose connections have grown old while the others ran.
 */
export function serveRuns(run: (ask: SendAsk, send: Send) => Promise<number>): void {
  const measure = async (ask: SendAsk) => {
    const guard = new AddressGuard({ allowPrivateTargets: true })
    const agent = guardedAgent({ guard, ca: ask.ca })
    const perSecond = await run(ask, createPoster(ask, agent))
    await agent.close()
    process.send?.({ perSecond } satisfies SendTell)
  }
  process.on('message', (ask: SendAsk) => void measure(ask))
  process.once('disconnect', () => process.exit())
}
