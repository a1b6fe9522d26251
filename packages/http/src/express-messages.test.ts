import { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInThisContext } from 'node:vm'
import { expect, it } from '@jest/globals'
import express, { type Request, type Response } from 'express'
import { messageClassesOf } from './express-messages.js'
import { listen } from './listen.js'

it('serves an Express application with requests and answers that have its prototypes from the start', async () => {
  const app = express().get('/', (req: Request, res: Response) => void res.json({ secure: req.secure }))
  const seen: boolean[] = []
  const handler = Object.assign(
    (req: Request, res: Response) => {
      seen.push(Object.getPrototypeOf(req) === app.request, Object.getPrototypeOf(res) === app.response)
      app(req, res)
    },
    { request: app.request, response: app.response },
  )
  const listener = await listen(handler as never, { port: 0, host: '127.0.0.1' })
  try {
    const answer = await fetch(`http://127.0.0.1:${listener.port}/`)
    expect(await answer.json()).toEqual({ secure: false })
    expect(seen).toEqual([true, true])
  } finally {
    await listener.close(0)
  }
})

it('makes messages with fast properties, of one shape', () => {
  setFlagsFromString('--allow-natives-syntax')
  const isFast = runInThisContext('(object) => %HasFastProperties(object)') as (object: unknown) => boolean
  const haveOneShape = runInThisContext('(a, b) => %HaveSameMap(a, b)') as (a: unknown, b: unknown) => boolean
  const app = express()
  const { IncomingMessage, ServerResponse } = messageClassesOf(app as never) ?? {}
  if (!IncomingMessage || !ServerResponse) throw new Error('no classes')
  const messages = () => {
    const req = new IncomingMessage(new Socket())
    return { req, res: new ServerResponse(req) }
  }
  // V8 gives the first objects of a constructor extra room, and takes it back once it has seen a few.
  for (let round = 0; round < 20; round += 1) messages()
  const [first, second] = [messages(), messages()]
  expect([isFast(first.req), isFast(first.res)]).toEqual([true, true])
  expect([haveOneShape(first.req, second.req), haveOneShape(first.res, second.res)]).toEqual([true, true])
})

it('leaves a plain handler its plain messages', async () => {
  const listener = await listen((_req, res) => void res.end('plain'), { port: 0, host: '127.0.0.1' })
  try {
    expect(await (await fetch(`http://127.0.0.1:${listener.port}/`)).text()).toBe('plain')
  } finally {
    await listener.close(0)
  }
})
