import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Drain } from '@signet/http'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import request from 'supertest'
import { createApp } from '../src/app.js'
import { startDispatcher, type TestDispatcher } from './support/dispatcher.js'

describe("the operators' port", () => {
  let receiver: Receiver
  let dispatcher: TestDispatcher
  beforeAll(async () => {
    receiver = await startReceiver()
    dispatcher = await startDispatcher({ ports: { ca: receiver.authorityCert } })
  })
  afterAll(async () => {
    await dispatcher.stop()
    await receiver.close()
  })

  it('says that it is alive and ready', async () => {
    const app = createApp(dispatcher)
    await request(app).get('/healthz').expect(200, { status: 'ok' })
    await request(app).get('/readyz').expect(200, { status: 'ready' })
    await request(app).get('/v1/webhooks').expect(404)
  })

  it('is not ready anymore once it stops', async () => {
    const stopping = { ...dispatcher, drain: new Drain(0) }
    stopping.drain.begin()
    await request(createApp(stopping)).get('/readyz').expect(503, { status: 'draining' })
  })

  it('shows results, retries, backlog and queues as metrics, without an id or a url in any label', async () => {
    const subscriber = dispatcher.subscriber()
    receiver.hook('/metrics', { answers: [reply(503)] })
    await subscriber.endpoint(receiver.url('/metrics'))
    const eventId = await subscriber.summary()
    const page = await waitFor(async () => {
      const { text } = await request(createApp(dispatcher)).get('/metrics').expect(200)
      return text.includes('attempts_total{result="http_503"} 1') && text
    })
    expect(page).toContain('signet_delivery_retries_total{step="1"} 1')
    expect(page).toContain('signet_delivery_pending 1')
    expect(page).toContain('signet_delivery_due 0')
    expect(page).toContain('signet_delivery_oldest_due_age_seconds 0')
    expect(page).toContain('signet_delivery_disabled_endpoints 0')
    expect(page).toContain('signet_delivery_queue_jobs{queue="deliveries",state="delayed"} 1')
    const labels = [...page.matchAll(/\{(.*)\}/g)].map(([, inner]) => inner).join()
    // A label's value may name a kind of thing, but no label may say whose it is.
    expect(labels).not.toMatch(/endpoint\w*=/)
    for (const hidden of [eventId, subscriber.accountId, '127.0.0.1']) expect(labels).not.toContain(hidden)
  })
})
