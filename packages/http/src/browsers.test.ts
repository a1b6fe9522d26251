import { describe, expect, it } from '@jest/globals'
import express from 'express'
import request from 'supertest'
import { prefersHtml, readCookie } from './browsers.js'

const app = express().get('/', (req, res) => {
  res.json({ html: prefersHtml(req), cookie: readCookie(req, 'id') ?? null })
})

const answerTo = async (headers: Record<string, string>): Promise<unknown> =>
  (await request(app).get('/').set(headers)).body

describe('readCookie', () => {
  it.each([
    ['id=a', 'a'],
    ['other=b; id=a', 'a'],
    [' id = a ;other=b', 'a'],
    ['id=a=b', 'a=b'],
    ['id=', ''],
    ['id=a; id=b', 'a'],
    ['myid=a; ID=b', null],
    ['id', null],
    // A cookie without a name whose value starts with the name of another.
    ['idx', null],
    ['idx; id=a', 'a'],
  ])('reads %j as %j', async (cookie, expected) => {
    expect(await answerTo({ cookie })).toMatchObject({ cookie: expected })
  })

  it('finds nothing without cookies', async () => {
    expect(await answerTo({})).toMatchObject({ cookie: null })
  })
})

describe('prefersHtml', () => {
  it.each([
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', true],
    ['application/json', false],
    ['*/*', false],
    ['text/html;q=0.5, application/json', false],
    ['image/png', false],
  ])('of Accept: %s is %j', async (accept, html) => {
    expect(await answerTo({ accept })).toMatchObject({ html })
  })
})
