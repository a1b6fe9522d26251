import { createServer } from 'node:http'
import request from 'supertest'
import { describe, expect, it } from '@jest/globals'
import { signedAt, vectors } from '../test/vectors.js'
import {
  deduplicate,
  EventInProgressError,
  InvalidSecretError,
  MemoryEventStore,
  sign,
  type WebhookEvent,
} from './index.js'
import { webhookHandler, type NodeHandlerOptions } from './node.js'

const [, { body }] = vectors.accepted as [unknown, (typeof vectors.accepted)[0]]
const options = { secret: vectors.secret, now: signedAt }
const headers = sign(body, vectors.secret, options)

function receiver(
  extra: Partial<NodeHandlerOptions> = {},
  onEvent: Parameters<typeof webhookHandler>[1] = () => {},
) {
  const events: WebhookEvent[] = []
  const handler = webhookHandler({ ...options, ...extra }, async (event, req, res) => {
    await onEvent(event, req, res)
    events.push(event)
  })
  return { server: createServer((req, res) => void handler(req, res)), events }
}
const post = (server: ReturnType<typeof createServer>, text = body) =>
  request(server).post('/hook').set(headers).send(text)

describe('webhookHandler for node:http', () => {
  it('hands over the verified event and answers 204', async () => {
    const { server, events } = receiver()
    await post(server).expect(204)
    expect(events).toEqual([JSON.parse(body)])
  })

  it('answers 400 with the reason for a forged body, and 413 above the limit', async () => {
    const refused: string[] = []
    const { server, events } = receiver({ onRefusal: ({ code }) => refused.push(code) })
    await post(server, '{}').expect(400, { error: 'signature_mismatch' })
    await post(receiver({ maxBytes: 100 }).server).expect(413, { error: 'body_too_large' })
    expect(events).toEqual([])
    expect(refused).toEqual(['signature_mismatch'])
  })

  it('answers 500 without the reason when the function fails, and tells the receiver', async () => {
    const errors: unknown[] = []
    const failure = new Error('queue is down')
    const { server } = receiver({ onError: (error) => errors.push(error) }, () => {
      throw failure
    })
    await post(server).expect(500, { error: 'internal' })
    expect(errors).toEqual([failure])
  })

  it('breaks the connection when the function fails in the middle of its answer', async () => {
    const { server } = receiver({ onError: () => {} }, (_event, _req, res) => {
      res.writeHead(200).write('half')
      throw new Error('queue is down')
    })
    await expect(post(server)).rejects.toThrow(/aborted|hang up/)
  })

  it('leaves an answer of the function alone', async () => {
    const { server } = receiver({}, (event, _req, res) => {
      res.writeHead(202, { 'content-type': 'application/json' }).end(JSON.stringify({ id: event.id }))
    })
    await post(server).expect(202, { id: 'evt_5d41402abc4b2a76b9719d911017c592' })
  })

  it('answers 409 to a repeat of an event that is being processed', async () => {
    const { server } = receiver({}, (event) => {
      throw new EventInProgressError(event.id)
    })
    await post(server).expect(409, { error: 'in_progress' })
  })

  it('answers 204 to a repeat of an event that was processed', async () => {
    const processed: string[] = []
    const once = deduplicate({ store: new MemoryEventStore() }, ({ id }) => void processed.push(id))
    const { server } = receiver({}, (event) => once(event))
    await post(server).expect(204)
    await post(server).expect(204)
    expect(processed).toHaveLength(1)
  })

  it('does not start with a secret that can verify nothing', () => {
    expect(() => webhookHandler({ secret: '' }, () => {})).toThrow(InvalidSecretError)
  })
})
