import { describe, expect, it } from '@jest/globals'
import { body, describeHandler, headers, options } from '../test/handler-conformance.js'
import { webhookHandler } from './fetch.js'
import { RawBodyRequiredError } from './index.js'

const delivery = (text: string | ReadableStream = body) =>
  new Request('https://receiver.example/hook', { method: 'POST', headers, body: text, duplex: 'half' })

describeHandler('servers in the Fetch style', (given, onEvent) => {
  const handler = webhookHandler(given, async (event) =>
    (await onEvent(event)) === 'answered' ? Response.json({ id: event.id }, { status: 202 }) : undefined,
  )
  return {
    async post(text) {
      // Servers in this style answer 500 when a handler throws.
      const response = await handler(delivery(text)).catch(() => new Response('', { status: 500 }))
      return { status: response.status, text: await response.text() }
    },
  }
})

describe('the handler for servers in the Fetch style', () => {
  it.each([
    ['was read before', (request: Request) => request.text()],
    ['is being read by somebody else', (request: Request) => request.body?.getReader()],
  ])('fails by name when the body %s, instead of checking an empty one', async (_name, read) => {
    const request = delivery()
    await read(request)
    await expect(webhookHandler(options, () => {})(request)).rejects.toThrow(RawBodyRequiredError)
  })

  it('stops reading a body that has no end', async () => {
    let pulled = 0
    const endless = new ReadableStream({
      pull(controller) {
        pulled += 1
        controller.enqueue(new Uint8Array(1000))
      },
    })
    const response = await webhookHandler({ ...options, maxBytes: 10_000 }, () => {})(delivery(endless))
    expect(response.status).toBe(413)
    expect(pulled).toBeLessThan(20)
  })

  it('lets failures of the function through', async () => {
    const handler = webhookHandler(options, () => Promise.reject(new Error('queue is down')))
    await expect(handler(delivery())).rejects.toThrow('queue is down')
  })
})
