import type { IncomingMessage } from 'node:http'
import express, { type ErrorRequestHandler } from 'express'
import request from 'supertest'
import { describe, expect, it } from '@jest/globals'
import { headersFor, signedAt, vectors } from '../test/vectors.js'
import { webhookHandler, type HandlerOptions } from './express.js'
import { InvalidSecretError, MissingHeaderError, type WebhookEvent } from './index.js'

const [, vector] = vectors.accepted as [unknown, (typeof vectors.accepted)[0]]
const options = { secret: vectors.secret, now: signedAt }

function receiver(extra: Partial<HandlerOptions> = {}, onEvent?: (event: WebhookEvent) => void) {
  const events: WebhookEvent[] = []
  const app = express()
  const handler = webhookHandler({ ...options, ...extra }, (event) => {
    onEvent?.(event)
    events.push(event)
  })
  app.post('/hook', handler)
  app.post('/after-raw', express.raw({ type: '*/*' }), handler)
  app.post('/after-json', express.json(), handler)
  app.post('/after-other-parsers', express.urlencoded(), express.text(), handler)
  const keep = (req: IncomingMessage & { rawBody?: Buffer }, _res: unknown, bytes: Buffer) => {
    req.rawBody = bytes
  }
  app.post('/after-json-that-keeps', express.json({ verify: keep }), handler)
  app.use(((error, _req, res, _next) => {
    res.status(500).json({ name: (error as Error).name, message: (error as Error).message })
  }) satisfies ErrorRequestHandler)
  return { app, events }
}

const post = (app: express.Express, path: string, body = vector.body) =>
  request(app).post(path).set('content-type', 'application/json').set(headersFor(vector.signature)).send(body)

describe('webhookHandler for Express', () => {
  it.each(['/hook', '/after-raw', '/after-other-parsers', '/after-json-that-keeps'])(
    'hands over the verified event and answers 204 on %s',
    async (path) => {
      const { app, events } = receiver()
      await post(app, path).expect(204)
      expect(events).toEqual([JSON.parse(vector.body)])
    },
  )

  it('fails by name in the error handling of the server after a JSON parser, whatever the signature', async () => {
    const { app, events } = receiver()
    const answer = await post(app, '/after-json').expect(500)
    expect(answer.body).toEqual({
      name: 'RawBodyRequiredError',
      message: expect.stringContaining('mount the verification before it'),
    })
    expect(events).toEqual([])
  })

  it('does not start with a secret that can verify nothing', () => {
    expect(() => webhookHandler({ secret: '' }, () => undefined)).toThrow(InvalidSecretError)
  })

  it('answers 400 with the reason for a forged body, and tells the receiver', async () => {
    const refused: string[] = []
    const { app, events } = receiver({ onRefusal: ({ code }) => refused.push(code) })
    await post(app, '/hook', '{}').expect(400, { error: 'signature_mismatch' })
    expect(events).toEqual([])
    expect(refused).toEqual(['signature_mismatch'])
  })

  it.each(['/hook', '/after-raw'])('answers 413 above the limit on %s', async (path) => {
    await post(receiver({ maxBytes: 100 }).app, path).expect(413, { error: 'body_too_large' })
  })

  it('answers 413 to a body that is far over the limit and still being sent', async () => {
    const { app, events } = receiver({ maxBytes: 1000 })
    await post(app, '/hook', 'x'.repeat(5_000_000)).expect(413)
    expect(events).toEqual([])
  })

  it('leaves failures of the receiver to Express, so that the delivery is tried again', async () => {
    const { app } = receiver({}, () => {
      throw new Error('queue is down')
    })
    await post(app, '/hook').expect(500, { name: 'Error', message: 'queue is down' })
  })

  it('takes no failure of the receiver for a refusal, whatever it is called', async () => {
    const { app } = receiver({}, () => {
      throw new MissingHeaderError('X-Other')
    })
    await post(app, '/hook').expect(500)
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
