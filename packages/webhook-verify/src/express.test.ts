import type { IncomingMessage } from 'node:http'
import express, { type ErrorRequestHandler, type Response } from 'express'
import request from 'supertest'
import { describe, expect, it } from '@jest/globals'
import { body, describeHandler, headers, options } from '../test/handler-conformance.js'
import { webhookHandler, type HandlerOptions } from './express.js'
import type { WebhookEvent } from './index.js'

const post = (app: express.Express, path: string, text = body) =>
  request(app).post(path).set('content-type', 'application/json').set(headers).send(text)

describeHandler('Express', (given, onEvent) => {
  const app = express()
  const handler = webhookHandler(given, async (event, _req, res: Response) => {
    if ((await onEvent(event)) === 'answered') res.status(202).json({ id: event.id })
  })
  app.post('/hook', handler)
  app.use(((_error, _req, res, _next) => void res.sendStatus(500)) satisfies ErrorRequestHandler)
  return { post: (text) => post(app, '/hook', text) }
})

describe('the handler for Express', () => {
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

  it.each(['/after-raw', '/after-other-parsers', '/after-json-that-keeps'])(
    'hands over the verified event and answers 204 on %s',
    async (path) => {
      const { app, events } = receiver()
      await post(app, path).expect(204)
      expect(events).toEqual([JSON.parse(body)])
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

  it('answers 413 above the limit to a body that was parsed before', async () => {
    await post(receiver({ maxBytes: 100 }).app, '/after-raw').expect(413, { error: 'body_too_large' })
  })

  it('leaves failures of the function to Express', async () => {
    const { app } = receiver({}, () => {
      throw new Error('queue is down')
    })
    await post(app, '/hook').expect(500, { name: 'Error', message: 'queue is down' })
  })
})
