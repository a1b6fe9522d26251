import { describe, expect, it } from '@jest/globals'
import { AppError } from '@signet/errors'
import { createLogger, createRegistry } from '@signet/telemetry'
import express, { type Express } from 'express'
import request from 'supertest'
import { docs, echo } from '../test/echo-route.js'
import { errorRenderer } from '../test/error-renderer.js'
import {
  compileSchema,
  errorHandler,
  metricsHandler,
  mountRoutes,
  notFoundHandler,
  requestContext,
  route,
  type Route,
  type RouteSpec,
} from './index.js'

type Line = Record<string, unknown>
function build(routes: Route[], timeoutMs = 0): { app: Express; lines: Line[] } {
  const lines: Line[] = []
  const log = createLogger({
    level: 'debug',
    component: 'api',
    sink: (line) => lines.push(JSON.parse(line) as Line),
  })
  const registry = createRegistry({ runtime: false })
  const app = express().disable('x-powered-by')
  app.use(requestContext({ log, registry, quiet: (req) => req.path === '/quiet' }))
  app.get('/metrics', metricsHandler(registry))
  mountRoutes(app, routes, { errorRenderer, timeoutMs, headers: { 'Cache-Control': 'no-store' } })
  app.use(notFoundHandler(errorRenderer))
  app.use(errorHandler({ errorRenderer }))
  return { app, lines }
}

describe('mountRoutes', () => {
  it('hands the checked body to the handler and sends its answer with the common headers', async () => {
    const answer = await request(build([echo()]).app)
      .post('/echo/7')
      .send({ name: 'a' })
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({ name: 'a', id: '7' })
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-store',
      'x-request-id': expect.any(String) as unknown,
    })
  })

  it.each([
    ['no body', '', 'application/json', 400, 'body_missing'],
    ['malformed JSON', '{', 'application/json', 400, 'body_malformed'],
    ['an array', '[]', 'application/json', 400, 'body_malformed'],
    ['a bare string', '"x"', 'application/json', 400, 'body_malformed'],
    ['another content type', '{"name":"a"}', 'text/plain', 400, 'body_content_type'],
    ['a missing member', '{}', 'application/json', 400, 'body_schema'],
    ['a wrong type', '{"name":1}', 'application/json', 400, 'body_schema'],
    [
      'a body over the limit',
      JSON.stringify({ name: 'x'.repeat(200) }),
      'application/json',
      413,
      'body_too_large',
    ],
  ])('refuses %s with the error renderer of the API', async (_, body, type, status, code) => {
    const answer = await request(build([echo()]).app)
      .post('/echo/7')
      .set('Content-Type', type)
      .send(body)
    expect([answer.status, (answer.body as { code: string }).code]).toEqual([status, code])
  })

  const form = { body: { as: 'form', maxBytes: 100 } } as const
  const jsonOrForm = { body: { as: 'json-or-form', maxBytes: 100 } } as const

  it.each([
    ['a form with bytes that are not UTF-8', form, '/echo/7', 'name=%C3%28', 'body_malformed'],
    ['such a form where JSON may stand', jsonOrForm, '/echo/7', 'name=%ff', 'body_malformed'],
    ['such a query', form, '/echo/7?name=%ff', 'name=a', 'body_query'],
  ])('refuses %s', async (_, extra, path, body, code) => {
    const answer = await request(build([echo(extra)]).app)
      .post(path)
      .type('form')
      .send(body)
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({ code, message: expect.stringContaining('UTF-8') as unknown })
  })

  it('leaves a percent sign alone that encodes nothing', async () => {
    const answer = await request(build([echo(jsonOrForm)]).app)
      .post('/echo/7?a=100%')
      .type('form')
      .send('{"name":"%ff"}')
    expect(answer.body).toEqual({ name: '%ff', id: '7' })
  })

  it('names the member that is wrong', async () => {
    const answer = await request(build([echo()]).app)
      .post('/echo/7')
      .send({ name: 1 })
    expect(answer.body).toMatchObject({ message: 'name must be a string' })
    const either = compileSchema({ type: 'object', properties: { name: { type: ['string', 'null'] } } })
    expect(either({ name: 1 })?.message).toBe('name must be a string or null')
  })

  it('names a member of a list as people write it', () => {
    const check = compileSchema({
      type: 'object',
      properties: {
        events: { type: 'array', items: { type: 'string' } },
        parts: { type: 'array', items: { type: 'object', required: ['label'] } },
      },
    })
    expect(check({ events: [1] })?.message).toBe('events[0] must be a string')
    expect(check({ parts: [{ label: '' }, {}] })?.message).toBe('parts[1].label is required')
  })

  it.each<[Record<string, unknown>, unknown, string]>([
    [{ type: 'string' }, null, 'must be a string'],
    [{ type: ['integer', 'boolean'] }, 'x', 'must be a whole number or true or false'],
    [{ type: ['object', 'array'] }, 1, 'must be an object or a list'],
    [{ type: 'integer', minimum: 1, maximum: 10 }, 11, 'must be between 1 and 10'],
    [{ type: 'integer', minimum: 1 }, 0, 'must be at least 1'],
    [{ type: 'number', maximum: 10 }, 11, 'must be at most 10'],
    [{ type: 'string', minLength: 2, maxLength: 3 }, 'x', 'must have 2 to 3 characters'],
    [{ type: 'string', minLength: 2 }, 'x', 'must have at least 2 characters'],
    [{ type: 'array', maxItems: 1 }, [1, 2], 'must have 0 to 1 entries'],
    [{ type: 'array', minItems: 1 }, [], 'must have at least 1 entries'],
    [{ type: 'array', uniqueItems: true }, [1, 1], 'must not contain duplicates'],
    [{ type: 'string', enum: ['a', 'b'] }, 'c', 'must be one of a, b'],
    [{ const: 'a' }, 'c', 'must be a'],
    [{ type: 'string', pattern: '^[a-z]+$' }, '1', 'has the wrong format'],
    [
      { type: 'string', format: 'uuid' },
      '019c12f0',
      'must be a UUID such as 8e0f9b52-6c1d-4f3a-9b7e-2d5c4a1f0e63',
    ],
    [
      { type: ['string', 'null'], format: 'date-time' },
      '2026-02-30T09:00:00Z',
      'must be a date and time such as 2026-01-31T09:00:00Z',
    ],
    [{ type: 'object', additionalProperties: false }, { x: 1 }, 'has an unknown member: x'],
  ])('says of %j in words for people what is wrong with %j', (schema, value, words) => {
    const check = compileSchema({ type: 'object', properties: { member: schema } })
    expect(check({ member: value })?.message).toBe(`member ${words}`)
  })

  it('runs limit, then authentication, then the body parser', async () => {
    const refuse = (code: string) => () => {
      throw new AppError('unauthenticated', code, 'no')
    }
    const { app } = build([echo({ authenticate: refuse('auth') })])
    expect(
      (await request(app).post('/echo/7').set('Content-Type', 'application/json').send('{')).body,
    ).toMatchObject({
      code: 'auth',
    })
    const limited = build([echo({ limit: refuse('limit'), authenticate: refuse('auth') })])
    expect((await request(limited.app).post('/echo/7').send({})).body).toMatchObject({ code: 'limit' })
  })

  it('reads JSON whatever the content type says when the API wants that', async () => {
    const { app } = build([echo({ body: { as: 'any-json', maxBytes: 100, optional: true } })])
    expect(
      (await request(app).post('/echo/7').set('Content-Type', 'text/plain').send('{"a":1}')).body,
    ).toEqual({ a: 1, id: '7' })
    expect((await request(app).post('/echo/7')).body).toEqual({ id: '7' })
  })

  it('reads a form or JSON under the content type of forms, by the look of the text, when the API takes both', async () => {
    const { app } = build([echo({ body: { as: 'json-or-form', maxBytes: 100 } })])
    const post = (text: string) => request(app).post('/echo/7').type('form').send(text)
    expect((await post('a=1&b=x+y')).body).toEqual({ a: '1', b: 'x y', id: '7' })
    expect((await post('{"a":1}')).body).toEqual({ a: 1, id: '7' })
    expect((await post('{"a"')).body).toMatchObject({ code: 'body_malformed' })
    expect((await request(app).post('/echo/7').send({ a: 1 })).body).toEqual({ a: 1, id: '7' })
  })

  it('reads forms, and shows repeated fields as arrays', async () => {
    const { app } = build([echo({ body: { as: 'form', maxBytes: 100 } })])
    expect((await request(app).post('/echo/7').type('form').send('a=1&a=2')).body).toEqual({
      a: ['1', '2'],
      id: '7',
    })
  })

  it('takes an empty body in chunks for no body', async () => {
    const { app } = build([echo()])
    const post = (target: Express) =>
      request(target)
        .post('/echo/7')
        .set({ 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' })
        .send('')
    expect((await post(app)).body).toMatchObject({ code: 'body_missing' })
    const optional = build([echo({ body: { as: 'json', maxBytes: 100, optional: true } })])
    expect((await post(optional.app)).body).toEqual({ id: '7' })
  })

  it('asks the guard after authentication and before it looks at the body', async () => {
    const refuse = (code: string) => () => {
      throw new AppError('not_found', code, 'no')
    }
    const post = (spec: Partial<RouteSpec<undefined, Record<string, unknown>>>) =>
      request(build([echo(spec)]).app)
        .post('/echo/7')
        .set('Content-Type', 'application/json')
        .send('{')
    expect((await post({ guard: refuse('guard') })).body).toMatchObject({ code: 'guard' })
    expect((await post({ authenticate: refuse('auth'), guard: refuse('guard') })).body).toMatchObject({
      code: 'auth',
    })
  })

  it('hands over the bytes of a JSON body unparsed when a route parses for itself', async () => {
    const bytes = route<undefined, Buffer>({
      method: 'post',
      path: '/bytes',
      docs,
      body: { as: 'json-bytes', maxBytes: 10 },
      handle: ({ body }) => ({ body: { bytes: body.toString() } }),
    })
    const post = (type: string, text: string) =>
      request(build([bytes]).app)
        .post('/bytes')
        .set('Content-Type', type)
        .send(text)
    expect((await post('application/json', '{"a"')).body).toEqual({ bytes: '{"a"' })
    expect((await post('text/plain', '{}')).body).toMatchObject({ code: 'body_content_type' })
    expect((await post('application/json', '')).body).toMatchObject({ code: 'body_missing' })
    expect((await post('application/json', '"12345678901"')).body).toMatchObject({ code: 'body_too_large' })
  })

  it('does not let a prototype key of the body reach any prototype', async () => {
    const { app } = build([echo({ body: { as: 'json', maxBytes: 100 } })])
    await request(app)
      .post('/echo/7')
      .set('Content-Type', 'application/json')
      .send('{"__proto__":{"polluted":1}}')
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })

  it('tells strangers nothing about methods where the API wants authentication first', async () => {
    const app = express()
    app.use(
      requestContext({
        log: createLogger({ level: 'panic', component: 'api' }),
        registry: createRegistry({ runtime: false }),
      }),
    )
    const authenticate = () => Promise.reject(new AppError('unauthenticated', 'auth', 'no'))
    mountRoutes(app, [echo()], { errorRenderer, authenticate })
    app.use(errorHandler({ errorRenderer }))
    const answer = await request(app).delete('/echo/7')
    expect([answer.status, answer.headers['allow']]).toEqual([401, undefined])
  })

  it('answers 405 with Allow for a known path and 404 for an unknown or undecodable one', async () => {
    const { app } = build([
      echo(),
      route({ method: 'get', path: '/echo/:id', docs, handle: () => ({ body: {} }) }),
    ])
    const wrong = await request(app).delete('/echo/7')
    expect([wrong.status, wrong.headers['allow']]).toEqual([405, 'POST, GET, HEAD'])
    expect((await request(app).get('/nothing')).status).toBe(404)
    expect((await request(app).get('/echo/%E0%A4%A')).status).toBe(404)
  })

  it('ends a request that takes too long, and tells the handler', async () => {
    let aborted = false
    const slow = route({
      method: 'get',
      path: '/slow',
      docs,
      handle: ({ context }) =>
        new Promise<void>(() => context.end.signal.addEventListener('abort', () => (aborted = true))),
    })
    const answer = await request(build([slow], 20).app).get('/slow')
    expect([answer.status, answer.body]).toEqual([
      504,
      { code: 'request_timeout', message: 'The request took too long' },
    ])
    expect(aborted).toBe(true)
  })
})

describe('errors', () => {
  const failing = (error: unknown) =>
    route({
      method: 'get',
      path: '/fail',
      docs,
      handle: () => {
        throw error
      },
    })

  it('shows a fixed text for what nobody expected and logs the cause once', async () => {
    const { app, lines } = build([failing(new TypeError('secret detail'))])
    const answer = await request(app).get('/fail')
    expect([answer.status, answer.body]).toEqual([500, { code: 'internal', message: 'Something broke' }])
    expect(lines).toMatchObject([
      {
        msg: 'request',
        level: 'error',
        status: 500,
        error_code: 'internal',
        error: { name: 'TypeError', message: 'secret detail', stack: expect.any(String) as unknown },
      },
    ])
  })

  it('sends Retry-After in whole seconds and does not log a refusal as an error', async () => {
    const { app, lines } = build([
      failing(new AppError('limited', 'slow_down', 'Wait', { retryAfterSeconds: 1.2 })),
    ])
    const answer = await request(app).get('/fail')
    expect([answer.status, answer.headers['retry-after']]).toEqual([429, '2'])
    expect(lines).toMatchObject([{ level: 'warning', status: 429, error_code: 'slow_down', route: '/fail' }])
    expect(lines[0]).not.toHaveProperty('error')
  })
})

describe('requestContext', () => {
  it('logs the path without its query, and nothing for quiet paths', async () => {
    const ok = (path: string) => route({ method: 'get', path, docs, handle: () => ({ body: {} }) })
    const { app, lines } = build([ok('/verify'), ok('/quiet')])
    await request(app).get('/verify?token=s3cret')
    await request(app).get('/quiet')
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({ msg: 'request', path: '/verify', status: 200 })
    expect(JSON.stringify(lines)).not.toContain('s3cret')
  })

  it('counts requests by route pattern, never by path', async () => {
    const { app } = build([echo()])
    await request(app).post('/echo/12345').send({ name: 'a' })
    const { text } = await request(app).get('/metrics')
    expect(text).toContain(
      'http_request_duration_seconds_count{method="POST",route="/echo/:id",status_class="2xx"} 1',
    )
    expect(text).not.toContain('12345')
  })
})
