import express, { type ErrorRequestHandler } from 'express'
import request from 'supertest'
import { describe, expect, it } from '@jest/globals'
import { headersFor, signedAt, vectors } from '../test/vectors.js'
import { webhookHandler } from './express.js'
import { type WebhookEvent } from './index.js'

const [, vector] = vectors.accepted as [unknown, (typeof vectors.accepted)[0]]
const options = { secret: vectors.secret, now: signedAt }

function receiver(extra: { maxBytes?: number } = {}, onEvent?: (event: WebhookEvent) => void) {
  const events: WebhookEvent[] = []
  const app = express()
  const handler = webhookHandler({ ...options, ...extra }, (event) => {
    onEvent?.(event)
    events.push(event)
  })
  app.post('/hook', handler)
  app.post('/after-raw', express.raw({ type: '*/*' }), handler)
  app.post('/after-json', express.json(), handler)
  app.use(((error, _req, res, _next) => {
    res.status(500).json({ error: (error as Error).message })
  }) satisfies ErrorRequestHandler)
  return { app, events }
}

const post = (app: express.Express, path: string, body = vector.body) =>
  request(app).post(path).set('content-type', 'application/json').set(headersFor(vector.signature)).send(body)

describe('webhookHandler for Express', () => {
  it.each(['/hook', '/after-raw'])('hands over the verified event and answers 204 on %s', async (path) => {
    const { app, events } = receiver()
    await post(app, path).expect(204)
    expect(events).toEqual([JSON.parse(vector.body)])
  })

  it('refuses a body that a JSON parser has read, whatever the signature', async () => {
    const { app, events } = receiver()
    await post(app, '/after-json').expect(400, { error: 'raw_body_required' })
    expect(events).toEqual([])
  })

  it('answers 400 with the reason for a forged body', async () => {
    const { app, events } = receiver()
    await post(app, '/hook', '{}').expect(400, { error: 'signature_mismatch' })
    expect(events).toEqual([])
  })

  it.each(['/hook', '/after-raw'])('answers 413 above the limit on %s', async (path) => {
    await post(receiver({ maxBytes: 100 }).app, path).expect(413, { error: 'body_too_large' })
  })

  it('leaves failures of the receiver to Express, so that the delivery is tried again', async () => {
    const { app } = receiver({}, () => {
      throw new Error('queue is down')
    })
    await post(app, '/hook').expect(500, { error: 'queue is down' })
  })

  it('leaves an answer of the receiver alone', async () => {
    const app = express()
    app.post(
      '/hook',
      webhookHandler(options, (event, _req, res: express.Response) => {
        res.status(202).json({ id: event.id })
      }),
    )
    await post(app, '/hook').expect(202, { id: 'evt_5d41402abc4b2a76b9719d911017c592' })
  })
})
