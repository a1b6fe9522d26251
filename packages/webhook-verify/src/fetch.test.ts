import { describe, expect, it } from '@jest/globals'
import { headersFor, signedAt, vectors } from '../test/vectors.js'
import { webhookHandler } from './fetch.js'
import { EventInProgressError, InvalidSecretError, RawBodyRequiredError, type WebhookEvent } from './index.js'

const [, vector] = vectors.accepted as [unknown, (typeof vectors.accepted)[0]]
const options = { secret: vectors.secret, now: signedAt }

const delivery = (body: string | undefined = vector.body) =>
  new Request('https://receiver.example/hook', {
    method: 'POST',
    headers: headersFor(vector.signature),
    body,
  })

describe('webhookHandler for Fetch-style servers', () => {
  it('hands over the verified event and answers 204', async () => {
    const events: WebhookEvent[] = []
    const response = await webhookHandler(options, (event) => void events.push(event))(delivery())
    expect(response.status).toBe(204)
    expect(events).toEqual([JSON.parse(vector.body)])
  })

  it('gives back the response of the receiver', async () => {
    const response = await webhookHandler(options, (event) =>
      Response.json({ id: event.id }, { status: 202 }),
    )(delivery())
    expect(response.status).toBe(202)
  })

  it.each([['{}'], ['']])('answers 400 with the reason for the forged body %j', async (body) => {
    const refused: string[] = []
    const onRefusal = ({ code }: { code: string }) => refused.push(code)
    const response = await webhookHandler({ ...options, onRefusal }, () => {
      throw new Error('reached')
    })(delivery(body))
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ error: 'signature_mismatch' })
    expect(refused).toEqual(['signature_mismatch'])
  })

  it.each([
    ['was read before', (request: Request) => request.text()],
    ['is being read by somebody else', (request: Request) => request.body?.getReader()],
  ])('fails by name when the body %s, instead of judging an empty one', async (_name, read) => {
    const request = delivery()
    await read(request)
    await expect(webhookHandler(options, () => {})(request)).rejects.toThrow(RawBodyRequiredError)
  })

  it('does not start with a secret that can verify nothing', () => {
    expect(() => webhookHandler({ secret: [] }, () => {})).toThrow(InvalidSecretError)
  })

  it('answers 413 above the limit', async () => {
    const response = await webhookHandler({ ...options, maxBytes: 100 }, () => {})(delivery())
    expect(response.status).toBe(413)
  })

  it('stops reading a body that has no end', async () => {
    let pulled = 0
    const endless = new ReadableStream({
      pull(controller) {
        pulled += 1
        controller.enqueue(new Uint8Array(1000))
      },
    })
    const request = new Request('https://receiver.example/hook', {
      method: 'POST',
      headers: headersFor(vector.signature),
      body: endless,
      duplex: 'half',
    })
    const response = await webhookHandler({ ...options, maxBytes: 10_000 }, () => {})(request)
    expect(response.status).toBe(413)
    expect(pulled).toBeLessThan(20)
  })

  it('lets failures of the receiver through, so that the delivery is tried again', async () => {
    const handler = webhookHandler(options, () => Promise.reject(new Error('queue is down')))
    await expect(handler(delivery())).rejects.toThrow('queue is down')
  })
})

it('answers 409 to a repeat of an event that is being processed', async () => {
  const handler = webhookHandler(options, ({ id }) => Promise.reject(new EventInProgressError(id)))
  const response = await handler(delivery())
  expect([response.status, await response.json()]).toEqual([409, { error: 'in_progress' }])
})
