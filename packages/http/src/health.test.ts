import { beforeEach, describe, expect, it } from '@jest/globals'
import { createLogger } from '@signet/telemetry'
import express, { type Express } from 'express'
import request from 'supertest'
import { Drain, healthHandlers } from './index.js'

describe('health', () => {
  const away = new Set<string>()
  const reach = (name: string) => () => {
    if (away.has(name)) throw new Error(`${name} is away`)
  }
  let app: Express
  let drain: Drain
  let lines: unknown[]
  beforeEach(() => {
    away.clear()
    lines = []
    const log = createLogger({
      level: 'info',
      component: 'test',
      sink: (line) => lines.push(JSON.parse(line)),
    })
    drain = new Drain(0)
    const { live, ready } = healthHandlers({
      required: { database: reach('database') },
      optional: { redis: reach('redis') },
      drain,
      log,
    })
    app = express().get('/healthz', live).get('/readyz', ready)
  })
  const ask = async () => {
    const answer = await request(app).get('/readyz')
    return [answer.status, answer.body as unknown]
  }

  it('says what is missing, and refuses requests only without what it cannot do without', async () => {
    expect(await ask()).toEqual([200, { status: 'ready' }])
    away.add('redis')
    expect(await ask()).toEqual([200, { status: 'degraded', failed: ['redis'] }])
    away.add('database')
    expect(await ask()).toEqual([503, { status: 'unavailable', failed: ['database', 'redis'] }])
    away.clear()
    drain.begin()
    expect(await ask()).toEqual([503, { status: 'draining' }])
    await request(app).get('/healthz').expect(200, { status: 'ok' })
  })

  it('logs one line for each change, however often it is asked', async () => {
    const askOften = async () => {
      for (let i = 0; i < 3; i++) await ask()
    }
    await askOften()
    away.add('redis')
    await askOften()
    away.delete('redis')
    away.add('database')
    await askOften()
    away.clear()
    await askOften()
    expect(lines).toMatchObject([
      { level: 'warning', msg: 'degraded', failed: ['redis'] },
      { level: 'warning', msg: 'unavailable', failed: ['database'] },
      { level: 'info', msg: 'ready again' },
    ])
  })
})
