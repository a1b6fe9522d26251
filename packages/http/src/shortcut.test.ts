import { request as ask } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { AppError } from '@signet/errors'
import { createLogger, createRegistry } from '@signet/telemetry'
import express, { type RequestHandler } from 'express'
import { docs } from '../test/echo-route.js'
import { errorRenderer } from '../test/error-renderer.js'
import {
  errorHandler,
  listen,
  mountRoutes,
  notFoundHandler,
  requestContext,
  route,
  withShortcut,
} from './index.js'
import type { Listener, Route } from './index.js'

const routes: Route[] = [
  route({
    method: 'get',
    path: '/plain',
    docs,
    handle: ({ req, context }) => ({
      headers: { 'X-Url': `${req.originalUrl} ${req.baseUrl} ${req.path}` },
      body: { query: req.query, params: context.params, ip: req.ip, route: context.route },
    }),
  }),
  route<undefined, object>({
    method: 'post',
    path: '/body',
    docs,
    body: { as: 'json', maxBytes: 100 },
    handle: ({ body }) => ({ status: 201, body }),
  }),
  route({
    method: 'get',
    path: '/throws',
    docs,
    handle() {
      throw new Error('a secret')
    },
  }),
  route({ method: 'get', path: '/rejects', docs, handle: () => Promise.reject(new Error('a secret')) }),
  route({
    method: 'get',
    path: '/half',
    docs,
    async handle({ res }) {
      await new Promise((written) => res.writeHead(200, { 'Content-Length': 10 }).write('half', written))
      throw new Error('too late')
    },
  }),
  route({ method: 'get', path: '/of/:id', docs, handle: ({ req }) => ({ body: req.params }) }),
]

const refuses: RequestHandler = (req, _res, next) => {
  if (req.get('x-how') === 'throw') throw new AppError('forbidden', 'thrown', 'No')
  if (req.get('x-how') === 'next') return next(new AppError('forbidden', 'passed', 'No'))
  next()
}

type Line = Record<string, unknown>

/** The same application, with and without the shortcut; `routed` counts what Express's router sees. */
async function start(short: boolean) {
  const lines: Line[] = []
  const seen = { routed: 0 }
  const log = createLogger({
    level: 'debug',
    component: 'x',
    sink: (line) => lines.push(JSON.parse(line) as Line),
  })
  const app = express().disable('x-powered-by')
  const before = [requestContext({ log, registry: createRegistry({ runtime: false }) }), refuses]
  app.use((_req, _res, next) => {
    seen.routed += 1
    next()
  })
  app.use(...before)
  const mounted = mountRoutes(app, routes, { errorRenderer, headers: { 'X-All': 'yes' } })
  const onError = errorHandler({ errorRenderer })
  app.use(notFoundHandler(errorRenderer), onError)
  const handler = short ? withShortcut(app, { before, routes: mounted, onError }) : app
  const listener = await listen(handler, { port: 0, host: '127.0.0.1' })
  return { listener, lines, seen }
}

type Ask = { method?: string; path: string; headers?: Record<string, string>; body?: string }

function answerOf({ port }: Listener, { method = 'GET', path, headers = {}, body }: Ask): Promise<object> {
  return new Promise((resolve) => {
    const req = ask({ host: '127.0.0.1', port, method, path, headers }, (res) => {
      let text = ''
      res.on('data', (chunk: Buffer) => (text += chunk.toString()))
      res.on('error', () => resolve({ status: res.statusCode, text, cut: true }))
      res.on('end', () => {
        const { date, 'x-request-id': id, ...rest } = res.headers
        resolve({ status: res.statusCode, text, headers: rest, told: [typeof date, typeof id] })
      })
    })
    req.on('error', (error) => resolve({ failed: error.message }))
    req.end(body)
  })
}

describe('withShortcut', () => {
  let short: Awaited<ReturnType<typeof start>>
  let long: Awaited<ReturnType<typeof start>>
  beforeAll(async () => {
    short = await start(true)
    long = await start(false)
  })
  afterAll(async () => {
    await short.listener.close(0)
    await long.listener.close(0)
  })

  const json = { 'content-type': 'application/json' }
  const shortened: Ask[] = [
    { path: 'http://other.example/plain' },
    { path: '/plain' },
    { path: '/plain?a=1&a=2&b=%20' },
    { path: '/plain?a=%ff' },
    { path: '/plain', headers: { 'x-how': 'throw' } },
    { path: '/plain', headers: { 'x-how': 'next' } },
    { method: 'POST', path: '/body', headers: json, body: '{"a":1}' },
    { method: 'POST', path: '/body', headers: json, body: '{"a"' },
    { method: 'POST', path: '/body' },
    { path: '/throws' },
    { path: '/rejects' },
    { path: '/half' },
  ]
  const routed: Ask[] = [
    { path: '/of/7' },
    { path: '/PLAIN' },
    { path: '/plain/' },
    { path: '/nowhere' },
    { path: '/%' },
    { path: '//plain' },
    { method: 'HEAD', path: '/plain' },
    { method: 'OPTIONS', path: '/plain' },
    { method: 'DELETE', path: '/plain' },
  ]

  it.each([...shortened, ...routed])(
    'answers as the application does: $method $path $headers $body',
    async (it) => {
      const [one, other] = [await answerOf(short.listener, it), await answerOf(long.listener, it)]
      expect(one).toEqual(other)
      const logged = ({ lines }: typeof short) => {
        const { time, request_id, duration, ...rest } = lines.at(-1) ?? {}
        return { ...rest, told: [typeof time, typeof request_id, typeof duration] }
      }
      expect(logged(short)).toEqual(logged(long))
    },
  )

  it('leaves the router out where it can', async () => {
    const before = short.seen.routed
    for (const one of shortened) await answerOf(short.listener, one)
    expect(short.seen.routed).toBe(before)
    for (const one of routed) await answerOf(short.listener, one)
    expect(short.seen.routed).toBe(before + routed.length)
  })
})
