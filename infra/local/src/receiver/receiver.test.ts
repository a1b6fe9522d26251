import { createHmac } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type Receiver, reply, startReceiver } from '@signet/testkit/receiver'
import { Agent, request } from 'undici'
import { serve } from '../web-server.js'
import { type DeliveryView, receiverRoutes } from './receiver-pages.js'

const SECRET = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8'
const BODY = JSON.stringify({
  id: 'evt_0f8c1d2e3b4a59687786a5b4c3d2e1f0',
  type: 'webhook.ping',
  created_at: '2026-01-01T00:00:00.000Z',
  data: { endpoint_id: '42', message: 'This is a test event.' },
})

describe('receiver', () => {
  let receiver: Receiver
  let agent: Agent
  beforeEach(async () => {
    receiver = await startReceiver()
    agent = new Agent({
      connect: { ca: receiver.authorityCert },
      connections: 1,
    })
  })
  afterEach(async () => {
    await agent.destroy()
    await receiver.close()
  })

  async function deliver(path: string, secret = SECRET, body = BODY, limits = {}): Promise<number> {
    const timestamp = String(Math.floor(Date.now() / 1000))
    const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')
    const response = await request(receiver.url(path), {
      ...limits,
      dispatcher: agent,
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'x-service-event': 'webhook.ping',
        'x-service-timestamp': timestamp,
        'x-service-signature': `sha256=${signature}`,
      },
    })
    await response.body.text()
    return response.statusCode
  }

  it('is trusted by clients that trust its authority, and by no others', async () => {
    expect(await deliver('/open')).toBe(200)
    await expect(fetch(receiver.url('/open'))).rejects.toThrow('fetch failed')
  })

  it('verifies the signature over the raw bytes and refuses a wrong one with 401', async () => {
    receiver.hook('/hook', { secret: SECRET })
    expect(await deliver('/hook')).toBe(200)
    expect(await deliver('/hook', 'whsec_other')).toBe(401)
    const [right, wrong] = receiver.deliveries({ path: '/hook' })
    expect(right).toMatchObject({ verified: true, event: { type: 'webhook.ping' }, refusal: '' })
    expect(wrong?.event).toBeUndefined()
    expect(right?.body.toString()).toBe(BODY)
    expect(wrong).toMatchObject({ verified: false, refusal: 'signature_mismatch' })
  })

  it('gives the programmed answers in order, then 200', async () => {
    receiver.hook('/hook', { answers: [reply(500), reply(302, { headers: { location: '/elsewhere' } })] })
    expect([await deliver('/hook'), await deliver('/hook'), await deliver('/hook')]).toEqual([500, 302, 200])
  })

  it('keeps a standing answer per path', async () => {
    receiver.hook('/gone', { otherwise: reply(410) })
    expect([await deliver('/gone'), await deliver('/gone'), await deliver('/other')]).toEqual([410, 410, 200])
  })

  it.each([
    ['hang', 'HeadersTimeoutError'],
    ['drip-head', 'HeadersTimeoutError'],
    ['close', 'SocketError'],
    ['garbage', 'HTTPParserError'],
  ] as const)('can be a receiver that behaves badly: %s', async (kind, name) => {
    receiver.hook('/bad', { answers: [{ kind }] })
    await expect(deliver('/bad', SECRET, BODY, { headersTimeout: 500 })).rejects.toMatchObject({ name })
  })

  it('can answer at once and then drip its body forever', async () => {
    receiver.hook('/drip', { answers: [{ kind: 'drip-body', everyMs: 5 }] })
    const response = await request(receiver.url('/drip'), { dispatcher: agent, method: 'POST' })
    expect(response.statusCode).toBe(200)
    response.body.on('error', () => {}).destroy()
  })

  it('distinguishes reused connections from new ones', async () => {
    await deliver('/a')
    await deliver('/a')
    expect(receiver.deliveries()).toHaveLength(2)
    expect(receiver.connections).toBe(1)
  })

  it('waits for the next delivery, and says what came when none does', async () => {
    await deliver('/a')
    const first = await receiver.waitForDelivery({ path: '/a' })
    const next = receiver.waitForDelivery({ path: '/a', after: first })
    await deliver('/a')
    expect((await next).number).toBe(2)
    await expect(receiver.waitForDelivery({ path: '/b', timeoutMs: 30 })).rejects.toThrow(
      'waited 30 ms for delivery {"path":"/b"}; 2 deliveries came: /a webhook.ping taken; /a webhook.ping taken',
    )
  })

  it('is set up and read over its control API by another process', async () => {
    const control = await serve(receiverRoutes(receiver))
    try {
      const hook = await fetch(`${control.url}/api/hooks`, {
        method: 'PUT',
        body: JSON.stringify({ path: '/hook', secret: SECRET, answers: [reply(503)] }),
      })
      expect(await hook.json()).toEqual({ url: receiver.url('/hook') })
      expect([await deliver('/hook'), await deliver('/hook')]).toEqual([503, 200])
      const list = await fetch(`${control.url}/api/deliveries?path=/hook&after=1`)
      const { items } = (await list.json()) as { items: DeliveryView[] }
      expect(items).toMatchObject([
        { number: 2, verified: true, eventType: 'webhook.ping', bytes: BODY.length },
      ])
      const body = await fetch(`${control.url}/api/deliveries/2`)
      expect(await body.text()).toBe(BODY)
    } finally {
      await control.close()
    }
  })
})
