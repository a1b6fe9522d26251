import { createHash } from 'node:crypto'
import fastify, { type FastifyInstance } from 'fastify'
import { afterEach, describe, expect, it } from '@jest/globals'
import { signedAt, vectors } from '../test/vectors.js'
import { webhookPlugin, type FastifyPluginOptions } from './fastify.js'
import { EventInProgressError, InvalidSecretError, sign, type WebhookEvent } from './index.js'

const [, { body }] = vectors.accepted as [unknown, (typeof vectors.accepted)[0]]
const options = { secret: vectors.secret, now: signedAt, path: '/hook' }
const headers = { ...sign(body, vectors.secret, options) }

const servers: FastifyInstance[] = []
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())))

type OnEvent = Parameters<typeof webhookPlugin>[1]
async function receiver(extra: Partial<FastifyPluginOptions> = {}, onEvent: OnEvent = () => {}) {
  const events: WebhookEvent[] = []
  const app = fastify()
  servers.push(app)
  app.post('/other', (request) => ({ parsed: request.body }))
  await app.register(
    webhookPlugin({ ...options, ...extra }, async (event, request, reply) => {
      await onEvent(event, request, reply)
      events.push(event)
    }),
    { prefix: '/v1' },
  )
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const post = (text: string | Buffer = body, path = '/v1/hook', more = {}) =>
    fetch(url + path, { method: 'POST', headers: { ...headers, ...more }, body: text })
  return { post, events }
}

describe('webhookPlugin for Fastify', () => {
  it('hands over the verified event and answers 204, whatever the content type', async () => {
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

  it.each(['{}', ''])('answers 400 with the reason for the forged body %j', async (text) => {
    const refused: string[] = []
    const { post, events } = await receiver({ onRefusal: ({ code }) => refused.push(code) })
    const answer = await post(text)
    expect(answer.status).toBe(400)
    expect(await answer.json()).toEqual({ error: 'signature_mismatch' })
    expect({ events, refused }).toEqual({ events: [], refused: ['signature_mismatch'] })
  })

  it('answers 413 above the limit', async () => {
    const { post } = await receiver({ maxBytes: 100 })
    expect((await post()).status).toBe(413)
  })

  it('leaves failures of the function to Fastify, so that the delivery is tried again', async () => {
    const { post } = await receiver({}, () => Promise.reject(new Error('queue is down')))
    const answer = await post()
    expect(answer.status).toBe(500)
    expect(await answer.json()).toMatchObject({ message: 'queue is down' })
  })

  it('answers 409 to a repeat of an event that is being processed', async () => {
    const { post } = await receiver({}, ({ id }) => Promise.reject(new EventInProgressError(id)))
    const answer = await post()
    expect([answer.status, await answer.json()]).toEqual([409, { error: 'in_progress' }])
  })

  it('leaves a reply of the function alone', async () => {
    const { post } = await receiver({}, (event, _request, reply) => {
      reply.code(202).send(event.id)
    })
    const answer = await post()
    expect([answer.status, await answer.text()]).toEqual([202, 'evt_5d41402abc4b2a76b9719d911017c592'])
  })

  it('does not start with a secret that can verify nothing', () => {
    expect(() => webhookPlugin({ path: '/', secret: '' }, () => {})).toThrow(InvalidSecretError)
  })
})
