import { describe, expect, it } from '@jest/globals'
import { openApiDocument, route, type RouteSpec } from './index.js'

const docs = { operationId: 'x', summary: 'x', tag: 'x', responses: { 200: { description: 'ok' } } }
const echo = (extra: Partial<RouteSpec<undefined, Record<string, unknown>>> = {}) =>
  route<undefined, Record<string, unknown>>({
    method: 'post',
    path: '/echo/:id',
    docs,
    body: {
      as: 'json',
      maxBytes: 100,
      schema: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
    },
    handle: ({ body, req }) => ({ status: 201, body: { ...body, id: req.params['id'] } }),
    ...extra,
  })

describe('openApiDocument', () => {
  it('lists every route with its path parameters and body', () => {
    const document = openApiDocument({ title: 'T', version: '1', description: 'd', routes: [echo()] })
    expect(document).toMatchObject({
      openapi: '3.1.0',
      paths: {
        '/echo/{id}': { post: { parameters: [{ name: 'id', in: 'path' }], requestBody: { required: true } } },
      },
    })
  })
  it('names the two routes that share an operation id', () => {
    const routes = [echo(), echo({ method: 'put' })]
    expect(() => openApiDocument({ title: 'T', version: '1', description: 'd', routes })).toThrow(
      'Operation id x of put /echo/:id belongs to post /echo/:id already',
    )
  })
})
