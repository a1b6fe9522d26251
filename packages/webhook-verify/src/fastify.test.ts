import { createHash } from 'node:crypto'
import fastify, { type FastifyInstance } from 'fastify'
import request from 'supertest'
import { afterEach, describe, expect, it } from '@jest/globals'
import { body, describeHandler, headers, options } from '../test/handler-conformance.js'
import { vectors } from '../test/vectors.js'
import { webhookPlugin } from './fastify.js'
import { sign, type WebhookEvent } from './index.js'

describeHandler('Fastify', async (given, onEvent) => {
  const app = fastify()
  await app.register(
    webhookPlugin({ ...given, path: '/hook' }, async (event, _request, reply) => {
      if ((await onEvent(event)) === 'answered') reply.code(202).send(JSON.stringify({ id: event.id }))
    }),
  )
  await app.ready()
  return {
    post: (text, signed) => request(app.server).post('/hook').set(signed).send(text),
    close: () => app.close(),
  }
})

describe('the plugin for Fastify', () => {
  const servers: FastifyInstance[] = []
  afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())))

  async function receiver(onEvent: (event: WebhookEvent) => void | Promise<void> = () => {}) {
    const events: WebhookEvent[] = []
    const app = fastify()
    servers.push(app)
    app.post('/other', ({ body: parsed }) => ({ parsed }))
    const plugin = webhookPlugin({ ...options, path: '/hook' }, async (event) => {
      await onEvent(event)
      events.push(event)
    })
    await app.register(plugin, { prefix: '/v1' })
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    const post = (text: string | Buffer = body, path = '/v1/hook', more = {}) =>
      fetch(url + path, { method: 'POST', headers: { ...headers, ...more }, body: text })
    return { post, events }
  }

  it('hands over the verified event, whatever the content type', async () => {
    const { post, events } = await receiver()
    for (const type of ['application/json', 'text/plain', 'application/octet-stream'])
      expect((await post(body, '/v1/hook', { 'content-type': type })).status).toBe(204)
    expect(events).toEqual(Array(3).fill(JSON.parse(body)))
  })

  it('leaves the parsers of the other routes alone', async () => {
    const { post } = await receiver()
    expect(await (await post('{"a":1}', '/other')).json()).toEqual({ parsed: { a: 1 } })
  })

  it('reads a body above the default limit of Fastify', async () => {
    const large = Buffer.from(JSON.stringify({ ...(JSON.parse(body) as object), x: 'x'.repeat(2_000_000) }))
    const { post, events } = await receiver()
    expect((await post(large, '/v1/hook', sign(large, vectors.secret, options))).status).toBe(204)
    const got = createHash('sha256').update(JSON.stringify(events[0])).digest('hex')
    expect(got).toBe(createHash('sha256').update(large).digest('hex'))
  })

  it('leaves failures of the function to Fastify', async () => {
    const { post } = await receiver(() => Promise.reject(new Error('queue is down')))
    expect(await (await post()).json()).toMatchObject({ statusCode: 500, message: 'queue is down' })
  })
})
