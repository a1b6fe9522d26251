import { describe, expect, it } from '@jest/globals'
import { AppError } from '@signet/errors'
import { createLogger, createRegistry } from '@signet/telemetry'
import express from 'express'
import request from 'supertest'
import { build } from '../test/echo-app.js'
import { docs, echo } from '../test/echo-route.js'
import { errorRenderer } from '../test/error-renderer.js'
import { errorHandler, mountRoutes, requestContext, route, type RouteSpec } from './index.js'

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
