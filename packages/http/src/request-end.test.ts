import { EventEmitter, once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, expect, it } from '@jest/globals'
import { createLogger, createRegistry } from '@signet/telemetry'
import express, { type Response } from 'express'
import { docs } from '../test/echo-route.js'
import { errorRenderer } from '../test/error-renderer.js'
import { errorHandler, listen, mountRoutes, requestContext, route, type Listener } from './index.js'
import { RequestEnd } from './request-end.js'

let listener: Listener | undefined
afterEach(() => listener?.close(0))

it('is over for a request whose connection ends before its answer has its turn', async () => {
  const handled: unknown[] = []
  const aborted: boolean[] = []
  let arrived = () => {}
  const waiting = new Promise<void>((resolve) => (arrived = resolve))
  const slow = route({
    method: 'get',
    path: '/:number',
    docs,
    async authenticate(req, context) {
      if (req.params['number'] === '1') return
      const early = context.end.signal
      const closed = once(req.socket, 'close')
      arrived()
      await closed
      aborted.push(early.aborted)
    },
    handle({ req, context }) {
      handled.push(req.params['number'])
      return new Promise((resolve) => context.end.signal.addEventListener('abort', () => resolve()))
    },
  })
  const late = route({
    method: 'get',
    path: '/late/:number',
    docs,
    async authenticate(req, context) {
      await once(req.socket, 'close')
      aborted.push(context.end.signal.aborted)
    },
    handle: () => void handled.push('late'),
  })
  const app = express()
  const logged: { msg?: string; path?: string; status?: number; remote_addr?: string }[] = []
  const sink = (line: string) => void logged.push(JSON.parse(line) as (typeof logged)[number])
  const log = createLogger({ level: 'info', component: 'test', sink })
  app.use(requestContext({ log, registry: createRegistry({ runtime: false }) }))
  mountRoutes(app, [slow, late], { errorRenderer })
  app.use(errorHandler({ errorRenderer }))
  listener = await listen(app, { port: 0, host: '127.0.0.1' })
  const client = connect(listener.port, '127.0.0.1')
  client.on('error', () => undefined)
  client.write(['/1', '/late/2', '/3'].map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''))
  await waiting
  client.destroy()
  while (aborted.length < 2) await new Promise(setImmediate)
  await new Promise(setImmediate)
  expect([aborted, handled]).toEqual([[true, true], ['1']])
  // All three are logged: nobody can hide requests behind a slow one.
  const lines = logged.map(({ path, status, remote_addr: from }) => [path, status, from])
  expect(lines.sort()).toEqual(['/1', '/3', '/late/2'].map((path) => [path, 499, '127.0.0.1']))
})

it.each(['the response', 'the connection'])(
  'logs what a listener throws at the end of %s, and goes on with the others and with other requests',
  async (which) => {
    const told: string[] = []
    const failing = route({
      method: 'post',
      path: '/failing',
      docs,
      body: { as: 'any-json', maxBytes: 100, optional: true },
      guard({ context, req }) {
        context.end.onceGone(() => {
          throw new Error('a mistake of ours')
        })
        context.end.onceGone(() => void told.push('next'))
        if (which === 'the connection') req.socket.destroy()
      },
      handle: () => ({ body: 'ok' }),
    })
    const logged: { level: string; msg: string; error?: { message: string; stack: string } }[] = []
    const sink = (line: string) => void logged.push(JSON.parse(line) as (typeof logged)[number])
    const log = createLogger({ level: 'info', component: 'test', sink })
    const app = express()
    app.use(requestContext({ log, registry: createRegistry({ runtime: false }) }))
    mountRoutes(app, [failing], { errorRenderer })
    app.use(errorHandler({ errorRenderer }))
    listener = await listen(app, { port: 0, host: '127.0.0.1' })
    const ask = () => fetch(`http://127.0.0.1:${listener?.port}/failing`, { method: 'POST' })
    for (let request = 1; request <= 2; request += 1) {
      const status = await ask().then(
        (answer) => answer.status,
        () => 'gone',
      )
      expect(status).toBe(which === 'the response' ? 200 : 'gone')
      while (told.length < request) await new Promise(setImmediate)
    }
    const failures = logged.filter(({ level }) => level === 'error')
    expect(failures).toHaveLength(2)
    expect(failures[0]?.error).toMatchObject({
      message: 'a mistake of ours',
      stack: expect.stringContaining('request-end.test') as unknown,
    })
    expect(logged.filter(({ msg }) => msg === 'request')).toHaveLength(2)
  },
)

it.each(['the response', 'the connection'])(
  'tells once that the client has left, by the end of %s',
  (which) => {
    const socket = Object.assign(new EventEmitter(), { destroyed: false })
    const res = Object.assign(new EventEmitter(), { closed: false, req: { socket } })
    let told = 0
    new RequestEnd(res as unknown as Response, () => undefined).onceGone(() => (told += 1))
    const [first, second] = which === 'the response' ? [res, socket] : [socket, res]
    first.emit('close')
    expect([told, second.listenerCount('close')]).toEqual([1, 0])
  },
)
