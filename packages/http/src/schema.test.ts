import { describe, expect, it } from '@jest/globals'
import request from 'supertest'
import { build } from '../test/echo-app.js'
import { echo } from '../test/echo-route.js'
import { compileSchema } from './index.js'

describe('a refusal', () => {
  it('names the member that is wrong', async () => {
    const answer = await request(build([echo()]).app)
      .post('/echo/7')
      .send({ name: 1 })
    expect(answer.body).toMatchObject({ message: 'name must be a string' })
    const either = compileSchema({ type: 'object', properties: { name: { type: ['string', 'null'] } } })
    expect(either({ name: 1 })?.message).toBe('name must be a string or null')
  })

  it('names a member of a list as people write it', () => {
    const check = compileSchema({
      type: 'object',
      properties: {
        events: { type: 'array', items: { type: 'string' } },
        parts: { type: 'array', items: { type: 'object', required: ['label'] } },
      },
    })
    expect(check({ events: [1] })?.message).toBe('events[0] must be a string')
    expect(check({ parts: [{ label: '' }, {}] })?.message).toBe('parts[1].label is required')
  })

  it.each<[Record<string, unknown>, unknown, string]>([
    [{ type: 'string' }, null, 'must be a string'],
    [{ type: ['integer', 'boolean'] }, 'x', 'must be a whole number or true or false'],
    [{ type: ['object', 'array'] }, 1, 'must be an object or a list'],
    [{ type: 'integer', minimum: 1, maximum: 10 }, 11, 'must be between 1 and 10'],
    [{ type: 'integer', minimum: 1 }, 0, 'must be at least 1'],
    [{ type: 'number', maximum: 10 }, 11, 'must be at most 10'],
    [{ type: 'string', minLength: 2, maxLength: 3 }, 'x', 'must have 2 to 3 characters'],
    [{ type: 'string', minLength: 2 }, 'x', 'must have at least 2 characters'],
    [{ type: 'array', maxItems: 1 }, [1, 2], 'must have 0 to 1 entries'],
    [{ type: 'array', minItems: 1 }, [], 'must have at least 1 entries'],
    [{ type: 'array', uniqueItems: true }, [1, 1], 'must not contain duplicates'],
    [{ type: 'string', enum: ['a', 'b'] }, 'c', 'must be one of a, b'],
    [{ const: 'a' }, 'c', 'must be a'],
    [{ type: 'string', pattern: '^[a-z]+$' }, '1', 'has the wrong format'],
    [
      { type: 'string', format: 'uuid' },
      '019c12f0',
      'must be a UUID such as 8e0f9b52-6c1d-4f3a-9b7e-2d5c4a1f0e63',
    ],
    [
      { type: ['string', 'null'], format: 'date-time' },
      '2026-02-30T09:00:00Z',
      'must be a date and time such as 2026-01-31T09:00:00Z',
    ],
    [{ type: 'object', additionalProperties: false }, { x: 1 }, 'has an unknown member: x'],
  ])('says of %j in words for people what is wrong with %j', (schema, value, words) => {
    const check = compileSchema({ type: 'object', properties: { member: schema } })
    expect(check({ member: value })?.message).toBe(`member ${words}`)
  })
})
