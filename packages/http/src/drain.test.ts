import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { afterEach, describe, expect, it } from '@jest/globals'
import { createLogger } from '@signet/telemetry'
import express from 'express'
import { Drain, healthHandlers, listen, type Listener } from './index.js'

describe('a drain', () => {
  let listener: Listener | undefined
  afterEach(() => listener?.close(0))

  it('takes readiness away first, and goes on answering, each connection once more', async () => {
    const drain = new Drain(60_000)
    const app = express()
    const log = createLogger({ level: 'info', component: 'test', sink: () => undefined })
    app.get('/readyz', healthHandlers({ required: { database: () => Promise.resolve() }, drain, log }).ready)
    app.get('/', (_req, res) => void res.send('answer'))
    listener = await listen(app, { port: 0, host: '127.0.0.1', drain })
    const { port } = listener
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const ask = async (path: string) => {
      const [answer] = (await once(get({ port, host: '127.0.0.1', path, agent }), 'response')) as [
        NodeJS.ReadableStream & { statusCode: number; headers: Record<string, string> },
      ]
      answer.resume()
      await once(answer, 'end')
      return [answer.statusCode, answer.headers['connection']]
    }
    expect([await ask('/readyz'), await ask('/')]).toEqual([
      [200, 'keep-alive'],
      [200, 'keep-alive'],
    ])
    drain.begin()
    // The first of these uses the connection that was kept alive.
    expect([await ask('/'), await ask('/'), await ask('/readyz')]).toEqual([
      [200, 'close'],
      [200, 'close'],
      [503, 'close'],
    ])
    agent.destroy()
  })
})
