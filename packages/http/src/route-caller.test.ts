import { expect, it } from '@jest/globals'
import { AppError } from '@signet/errors'
import { createLogger, createRegistry } from '@signet/telemetry'
import express from 'express'
import request from 'supertest'
import { docs } from '../test/echo-route.js'
import { errorRenderer } from '../test/error-renderer.js'
import { contextOf, requestContext, route, routeCaller, type Route, type RouteCall } from './index.js'

type Body = { name: string }
const steps: string[] = []
const itemRoute = route<string, Body>({
  method: 'patch',
  path: '/items/:id',
  docs,
  limit: () => void steps.push('limit'),
  authenticate(req) {
    steps.push('authenticate')
    const token = req.get('authorization')
    if (token === undefined) throw new AppError('unauthenticated', 'unauthorized', 'Who?')
    return token
  },
  guard({ req }) {
    steps.push('guard')
    if (req.params['id'] === 'foreign') throw new AppError('not_found', 'not_found', 'No such thing')
  },
  body: {
    as: 'json',
    maxBytes: 10,
    schema: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
  },
  handle: ({ caller, body, req, context }) => ({
    body: {
      caller,
      name: body.name,
      method: req.method,
      params: req.params,
      query: req.query,
      route: context.route,
      address: req.socket.remoteAddress,
    },
  }),
})

/** Calls the route while another request is being handled, and returns the outcome of the call. */
async function callOf(spec: Route, call: Partial<RouteCall>, headers: Record<string, string> = {}) {
  steps.length = 0
  const calling = routeCaller(spec, errorRenderer)
  const app = express()
  const log = createLogger({ level: 'panic', component: 'test' })
  app.use(requestContext({ log, registry: createRegistry({ runtime: false }) }))
  app.post('/outside/:id', async (_req, res) => {
    const outcome = await calling({ params: {}, query: {}, body: undefined, ...call }, res).catch(
      ({ code, message }: AppError) => ({ code, message }),
    )
    res.json({ outcome, outerRoute: contextOf(res).route, outerParams: res.req.params })
  })
  return (await request(app).post('/outside/1?outer=1').set(headers)).body as { outcome: unknown }
}

it('runs every step of the route with the credentials of the request and the values of the call', async () => {
  const call = { params: { id: '../7' }, query: { deep: '1' }, body: { name: 'Ada' } }
  expect(await callOf(itemRoute, call, { authorization: 'Bearer me' })).toEqual({
    outcome: {
      body: {
        caller: 'Bearer me',
        name: 'Ada',
        method: 'PATCH',
        params: { id: '../7' },
        query: { deep: '1' },
        route: '/items/:id',
        address: expect.stringContaining('127.0.0.1') as unknown,
      },
    },
    outerRoute: '',
    outerParams: { id: '1' },
  })
  expect(steps).toEqual(['limit', 'authenticate', 'guard'])
})

it.each<[string, Partial<RouteCall>, Record<string, string>, object]>([
  ['credentials', { params: { id: 'foreign' } }, {}, { code: 'unauthorized' }],
  ['the resource', { params: { id: 'foreign' } }, { authorization: 'me' }, { code: 'not_found' }],
  ['a missing body', { params: { id: '1' } }, { authorization: 'me' }, { code: 'body_missing' }],
  [
    'a body that does not fit',
    { params: { id: '1' }, body: { name: 7 } },
    { authorization: 'me' },
    { code: 'body_schema', message: 'name must be a string' },
  ],
])('refuses as the route does, in its order: %s', async (_, call, headers, refusal) => {
  expect((await callOf(itemRoute, call, headers)).outcome).toMatchObject(refusal)
})

it('answers nothing as an empty answer, and takes an optional body as empty', async () => {
  const quiet = route<undefined, object>({
    method: 'post',
    path: '/quiet',
    docs,
    body: { as: 'json', maxBytes: 10, optional: true },
    handle: ({ body }) => void expect(body).toEqual({}),
  })
  expect((await callOf(quiet, {})).outcome).toEqual({})
})
