import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import { deliveryChecker } from '@signet/testkit/open-api'
import { Webhook } from 'standardwebhooks'
import { deliveriesOf, startDispatcher, type TestDispatcher } from './support/dispatcher.js'

/** Checks a delivery against the API description that subscribers read. */
const fits = deliveryChecker(
  JSON.parse(readFileSync(new URL('../../webhooks/docs/openapi.json', import.meta.url), 'utf8')) as object,
)

describe('delivery', () => {
  let receiver: Receiver
  let dispatcher: TestDispatcher
  beforeAll(async () => {
    receiver = await startReceiver()
    dispatcher = await startDispatcher({
      env: { DISPATCHER_RETRY_DELAYS_SECONDS: '0.1,0.1,0.1,0.1,0.1' },
      ports: { ca: receiver.authorityCert },
    })
  })
  afterAll(async () => {
    await dispatcher.stop()
    await receiver.close()
  })

  it('brings an event to its endpoint, signed over the exact bytes that were frozen', async () => {
    const subscriber = dispatcher.subscriber()
    const endpoint = await subscriber.endpoint(receiver.url('/first'))
    receiver.hook('/first', { secret: endpoint.secret })
    const eventId = await subscriber.summary()
    const delivery = await receiver.waitForDelivery({ path: '/first' })
    expect(delivery.verified).toBe(true)
    expect(delivery.event).toMatchObject({ id: eventId, type: 'summary.completed' })
    const [row] = await waitFor(async () => {
      const rows = await deliveriesOf(dispatcher.db, subscriber.accountId)
      return rows[0]?.status === 1 && rows
    })
    expect(row).toMatchObject({ attempts: 1, last_error: '', next_attempt_at: null })
    expect(delivery.headers['x-service-delivery']).toBe(row?.id)
    expect(delivery.headers['webhook-id']).toBe(eventId)
    const standard = new Webhook(endpoint.secret)
    const headers = delivery.headers as Record<string, string>
    expect(standard.verify(delivery.body, headers)).toEqual(delivery.event)
    expect(() => standard.verify(`${delivery.body.toString()} `, headers)).toThrow('No matching signature')
  })

  it('tries again after a failure, with the same bytes and delivery id and a new signature', async () => {
    const subscriber = dispatcher.subscriber()
    const endpoint = await subscriber.endpoint(receiver.url('/retry'))
    receiver.hook('/retry', { secret: endpoint.secret, answers: [reply(500)] })
    await subscriber.summary()
    const [row] = await waitFor(async () => {
      const rows = await deliveriesOf(dispatcher.db, subscriber.accountId)
      return rows[0]?.status === 1 && rows
    })
    expect(row).toMatchObject({ attempts: 2, last_error: 'http_500' })
    const [first, second] = receiver.deliveries({ path: '/retry' })
    expect(second?.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true)
    for (const name of ['x-service-delivery', 'webhook-id'])
      expect(second?.headers[name]).toBe(first?.headers[name])
  })

  it('is what the OpenAPI document says of each type, with all of its parts and with none', async () => {
    const subscriber = dispatcher.subscriber()
    const endpoint = await subscriber.endpoint(receiver.url('/documented'))
    await subscriber.summary({
      recording: {
        reportId: 'rep_1',
        status: 3,
        title: 'Weekly',
        durationMs: 1000,
        recordedAt: new Date('2026-01-01T09:00:00Z'),
      },
      transcript: {
        language: 'en',
        text: 'Good morning.',
        segments: [{ speaker: 'Ana', start: 0, end: 1.4, text: 'Good morning.' }],
      },
      summaries: [{ label: 'Summary', content: '# Weekly', format: 'markdown', templateName: 'Notes' }],
    })
    await subscriber.summary({ recording: {}, summaries: [] })
    await subscriber.ping(endpoint.id)
    const delivered = await waitFor(() => {
      const all = receiver.deliveries({ path: '/documented' })
      return all.length === 3 && all
    })
    for (const { headers, event } of delivered) fits(String(event?.type), headers, event)
    const [{ headers, event }] = delivered as [(typeof delivered)[0]]
    const { 'webhook-id': _, ...without } = headers
    expect(() => fits(String(event?.type), without, event)).toThrow('webhook-id')
    expect(() => fits(String(event?.type), headers, { ...event, more: 1 })).toThrow('additional')
  })
})
