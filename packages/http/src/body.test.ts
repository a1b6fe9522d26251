import { describe, expect, it } from '@jest/globals'
import type { Express } from 'express'
import request from 'supertest'
import { build } from '../test/echo-app.js'
import { docs, echo } from '../test/echo-route.js'
import { route } from './index.js'

describe('the body of a request', () => {
  it.each([
    ['no body', '', 'application/json', 400, 'body_missing'],
    ['malformed JSON', '{', 'application/json', 400, 'body_malformed'],
    ['an array', '[]', 'application/json', 400, 'body_malformed'],
    ['a bare string', '"x"', 'application/json', 400, 'body_malformed'],
    ['another content type', '{"name":"a"}', 'text/plain', 400, 'body_content_type'],
    ['a missing member', '{}', 'application/json', 400, 'body_schema'],
    ['a wrong type', '{"name":1}', 'application/json', 400, 'body_schema'],
    [
      'a body over the limit',
      JSON.stringify({ name: 'x'.repeat(200) }),
      'application/json',
      413,
      'body_too_large',
    ],
  ])('refuses %s with the error renderer of the API', async (_, body, type, status, code) => {
    const answer = await request(build([echo()]).app)
      .post('/echo/7')
      .set('Content-Type', type)
      .send(body)
    expect([answer.status, (answer.body as { code: string }).code]).toEqual([status, code])
  })

  const form = { body: { as: 'form', maxBytes: 100 } } as const
  const jsonOrForm = { body: { as: 'json-or-form', maxBytes: 100 } } as const

  it.each([
    ['a form with bytes that are not UTF-8', form, '/echo/7', 'name=%C3%28', 'body_malformed'],
    ['such a form where JSON may stand', jsonOrForm, '/echo/7', 'name=%ff', 'body_malformed'],
    ['such a query', form, '/echo/7?name=%ff', 'name=a', 'body_query'],
  ])('refuses %s', async (_, extra, path, body, code) => {
    const answer = await request(build([echo(extra)]).app)
      .post(path)
      .type('form')
      .send(body)
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({ code, message: expect.stringContaining('UTF-8') as unknown })
  })

  it('leaves a percent sign alone that encodes nothing', async () => {
    const answer = await request(build([echo(jsonOrForm)]).app)
      .post('/echo/7?a=100%')
      .type('form')
      .send('{"name":"%ff"}')
    expect(answer.body).toEqual({ name: '%ff', id: '7' })
  })

  it('reads JSON whatever the content type says when the API wants that', async () => {
    const { app } = build([echo({ body: { as: 'any-json', maxBytes: 100, optional: true } })])
    expect(
      (await request(app).post('/echo/7').set('Content-Type', 'text/plain').send('{"a":1}')).body,
    ).toEqual({ a: 1, id: '7' })
    expect((await request(app).post('/echo/7')).body).toEqual({ id: '7' })
  })

  it('reads a form or JSON under the content type of forms, by the look of the text, when the API takes both', async () => {
    const { app } = build([echo({ body: { as: 'json-or-form', maxBytes: 100 } })])
    const post = (text: string) => request(app).post('/echo/7').type('form').send(text)
    expect((await post('a=1&b=x+y')).body).toEqual({ a: '1', b: 'x y', id: '7' })
    expect((await post('{"a":1}')).body).toEqual({ a: 1, id: '7' })
    expect((await post('{"a"')).body).toMatchObject({ code: 'body_malformed' })
    expect((await request(app).post('/echo/7').send({ a: 1 })).body).toEqual({ a: 1, id: '7' })
  })

  it('reads forms, and shows repeated fields as arrays', async () => {
    const { app } = build([echo({ body: { as: 'form', maxBytes: 100 } })])
    expect((await request(app).post('/echo/7').type('form').send('a=1&a=2')).body).toEqual({
      a: ['1', '2'],
      id: '7',
    })
  })

  it('takes an empty body in chunks for no body', async () => {
    const { app } = build([echo()])
    const post = (target: Express) =>
      request(target)
        .post('/echo/7')
        .set({ 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' })
        .send('')
    expect((await post(app)).body).toMatchObject({ code: 'body_missing' })
    const optional = build([echo({ body: { as: 'json', maxBytes: 100, optional: true } })])
    expect((await post(optional.app)).body).toEqual({ id: '7' })
  })

  it('hands over the bytes of a JSON body unparsed when a route parses for itself', async () => {
    const bytes = route<undefined, Buffer>({
      method: 'post',
      path: '/bytes',
      docs,
      body: { as: 'json-bytes', maxBytes: 10 },
      handle: ({ body }) => ({ body: { bytes: body.toString() } }),
    })
    const post = (type: string, text: string) =>
      request(build([bytes]).app)
        .post('/bytes')
        .set('Content-Type', type)
        .send(text)
    expect((await post('application/json', '{"a"')).body).toEqual({ bytes: '{"a"' })
    expect((await post('text/plain', '{}')).body).toMatchObject({ code: 'body_content_type' })
    expect((await post('application/json', '')).body).toMatchObject({ code: 'body_missing' })
    expect((await post('application/json', '"12345678901"')).body).toMatchObject({ code: 'body_too_large' })
  })

  it('does not let a prototype key of the body reach any prototype', async () => {
    const { app } = build([echo({ body: { as: 'json', maxBytes: 100 } })])
    await request(app)
      .post('/echo/7')
      .set('Content-Type', 'application/json')
      .send('{"__proto__":{"polluted":1}}')
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })
})
