import { expect, it } from '@jest/globals'
import express, { type Request, type Response } from 'express'
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

it('leaves a plain handler its plain messages', async () => {
  const listener = await listen((_req, res) => void res.end('plain'), { port: 0, host: '127.0.0.1' })
  try {
    expect(await (await fetch(`http://127.0.0.1:${listener.port}/`)).text()).toBe('plain')
  } finally {
    await listener.close(0)
  }
})
