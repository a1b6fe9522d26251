import { describe, expect, it } from '@jest/globals'
import express from 'express'
import request from 'supertest'
import { healthHandlers } from './index.js'

describe('health', () => {
  it('is ready only while every check passes, and names those that do not', async () => {
    let up = false
    const { live, ready } = healthHandlers({
      database: () => (up ? Promise.resolve() : Promise.reject(new Error('x'))),
    })
    const app = express().get('/healthz', live).get('/readyz', ready)
    expect((await request(app).get('/healthz')).body).toEqual({ status: 'ok' })
    expect((await request(app).get('/readyz')).body).toEqual({ status: 'unavailable', failed: ['database'] })
    up = true
    expect((await request(app).get('/readyz')).status).toBe(200)
  })
})
