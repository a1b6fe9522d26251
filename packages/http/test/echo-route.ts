import { route, type RouteSpec } from '../src/index.js'

export const docs = { operationId: 'x', summary: 'x', tag: 'x', responses: { 200: { description: 'ok' } } }

/** A route that answers with the body it got and the id of its path. */
export const echo = (extra: Partial<RouteSpec<undefined, Record<string, unknown>>> = {}) =>
  route<undefined, Record<string, unknown>>({
    method: 'post',
    path: '/echo/:id',
    docs,
    body: {
      as: 'json',
      maxBytes: 100,
      schema: {
        type: 'object',
        required: ['name'],
        properties: { name: { type: 'string', examples: ['Ada'] } },
      },
    },
    handle: ({ body, req }) => ({ status: 201, body: { ...body, id: req.params['id'] } }),
    ...extra,
  })
