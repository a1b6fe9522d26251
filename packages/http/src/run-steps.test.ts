import { once } from 'node:events'
import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterEach, expect, it } from '@jest/globals'
import { AppError } from '@signet/errors'
import { createLogger, createRegistry } from '@signet/telemetry'
import express from 'express'
import { docs } from '../test/echo-route.js'
import { errorRenderer } from '../test/error-renderer.js'
import { errorHandler, listen, mountRoutes, requestContext, route, type Listener } from './index.js'

let listener: Listener | undefined
afterEach(() => listener?.close(0))

type Options = {
  timeoutMs?: number
  isValid?: () => boolean
  /** What the second check of the credential waits for. */
  until?: Promise<void>
}

/** Starts a server with one route, and sends it the head of a request. The test sends the body. */
async function start({ timeoutMs = 0, isValid = () => true, until }: Options = {}) {
  const handled: string[] = []
  const seen = { credential: onceCalled(), body: onceCalled() }
  const credential = (which: keyof typeof seen) => async () => {
    seen[which].call()
    if (which === 'body') await until
    if (!isValid()) throw new AppError('unauthenticated', 'unauthorized', 'Who?')
    return which
  }
  const app = express()
  const log = createLogger({ level: 'panic', component: 'test' })
  app.use(requestContext({ log, registry: createRegistry({ runtime: false }) }))
  const taking = route<string, object>({
    method: 'post',
    path: '/',
    docs,
    authenticate: credential('credential'),
    authenticateAgain: credential('body'),
    body: { as: 'json', maxBytes: 100 },
    handle: ({ caller }) => void handled.push(caller),
  })
  mountRoutes(app, [taking], { errorRenderer, timeoutMs })
  app.use(errorHandler({ errorRenderer }))
  listener = await listen(app, { port: 0, host: '127.0.0.1' })
  const headers = { 'content-type': 'application/json', 'content-length': 2, connection: 'keep-alive' }
  const client = request({ port: listener.port, method: 'POST', agent: false, headers })
  client.flushHeaders()
  await seen.credential.called
  return { handled, client }
}

function onceCalled() {
  let call = () => {}
  const called = new Promise<void>((resolve) => (call = resolve))
  return { call, called }
}

const answerTo = async (client: ClientRequest) => ((await once(client, 'response')) as [IncomingMessage])[0]
const statusOf = async (client: ClientRequest) => (await answerTo(client)).statusCode

it('hands the handler the caller that the credential has when the body is there', async () => {
  const { handled, client } = await start()
  client.end('{}')
  expect([await statusOf(client), handled]).toEqual([204, ['body']])
})

it('handles nothing for a credential that ends while the body is on its way', async () => {
  let isValid = true
  const { handled, client } = await start({ isValid: () => isValid })
  isValid = false
  client.end('{}')
  expect([await statusOf(client), handled]).toEqual([401, []])
})

it('tells a caller whose body does not arrive in time, and closes the connection', async () => {
  const { handled, client } = await start({ timeoutMs: 1 })
  const answer = await answerTo(client)
  expect([answer.statusCode, answer.headers.connection]).toEqual([408, 'close'])
  expect(await text(answer)).toContain('The body of the request did not arrive in time')
  expect(handled).toEqual([])
})

it('handles nothing once the caller has been told that it took too long', async () => {
  // On a busy machine the body may miss the limit, which is then doubled.
  for (let timeoutMs = 50; ; timeoutMs *= 2) {
    const over = onceCalled()
    const { handled, client } = await start({ timeoutMs, until: over.called })
    client.end('{}')
    const status = await statusOf(client)
    over.call()
    await new Promise(setImmediate)
    expect(handled).toEqual([])
    if (status === 504) return
    expect(status).toBe(408)
    await listener?.close(0)
  }
})
