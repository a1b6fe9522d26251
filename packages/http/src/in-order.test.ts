import { describe, expect, it } from '@jest/globals'
import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import request from 'supertest'
import { inOrder } from './in-order.js'

const tells: ErrorRequestHandler = (error: Error, _req, res, next) =>
  res.headersSent ? next(error) : void res.status(500).send(error.message)

const appOf = (...handlers: RequestHandler[]) =>
  express()
    .use(inOrder(...handlers))
    .get('/', (_req, res) => void res.send('the route'))
    .use(tells)

const adds =
  (name: string): RequestHandler =>
  (_req, res, next) => {
    res.append('X-Passed', name)
    next()
  }

describe('inOrder', () => {
  it('runs one after the other, then what follows', async () => {
    const answer = await request(appOf(adds('a'), adds('b'))).get('/')
    expect([answer.headers['x-passed'], answer.text]).toEqual(['a, b', 'the route'])
  })

  it('stops where one answers itself', async () => {
    const answers: RequestHandler = (_req, res) => void res.send('the second')
    const answer = await request(appOf(adds('a'), answers, adds('c'))).get('/')
    expect([answer.headers['x-passed'], answer.text]).toEqual(['a', 'the second'])
  })

  it.each<[string, RequestHandler]>([
    [
      'throws',
      () => {
        throw new Error('broken')
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
    ['passes an error on', (_req, _res, next) => next(new Error('broken'))],
  ])('gives the error of one that %s to the error handler', async (_how, breaks) => {
    const answer = await request(appOf(adds('a'), breaks, adds('c'))).get('/')
    expect([answer.status, answer.text, answer.headers['x-passed']]).toEqual([500, 'broken', 'a'])
  })
})
