import { describe, expect, it } from '@jest/globals'
import { echo } from '../test/echo-route.js'
import { openApiDocument } from './open-api.js'

const options = {
  title: 'T',
  version: '1',
  description: 'd',
  server: 'https://api.example.com',
  tags: { x: 'X', unused: 'Nothing' },
}

describe('openApiDocument', () => {
  it('lists every route with its path parameters and body', () => {
    const document = openApiDocument({ ...options, routes: [echo()] })
    expect(document).toMatchObject({
      openapi: '3.1.0',
      paths: {
        '/echo/{id}': {
          post: {
            operationId: 'x',
            parameters: [{ name: 'id', in: 'path' }],
            requestBody: {
              required: true,
              content: { 'application/json': { example: { name: 'Ada' } } },
            },
          },
        },
      },
      info: { title: 'T', description: expect.stringMatching(/^d .+ 405 .+ `HEAD`/) as unknown },
      servers: [{ url: 'https://api.example.com' }],
      tags: [{ name: 'x', description: 'X' }],
    })
  })
  it('names the two routes that share an operation id', () => {
    const routes = [echo(), echo({ method: 'put' })]
    expect(() => openApiDocument({ ...options, routes })).toThrow(
      'Operation id x of put /echo/:id belongs to post /echo/:id already',
    )
  })
})
