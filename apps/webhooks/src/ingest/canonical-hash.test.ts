import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { canonicalHash } from './canonical-hash.js'

const hash = (json: string) => canonicalHash(JSON.parse(json)).toString('hex')

describe('canonicalHash', () => {
  it.each([
    ['the order of members', '{"a":1,"b":{"c":2,"d":3}}', '{"b":{"d":3,"c":2},"a":1}'],
    ['white space', '{"a":[1,2]}', ' {\n"a" : [ 1 , 2 ] } '],
    ['the spelling of numbers', '{"a":100}', '{"a":1.0e2}'],
    ['the spelling of characters', '{"a":"é"}', '{"a":"\\u00e9"}'],
  ])('does not depend on %s', (_, one, other) => {
    expect(hash(one)).toBe(hash(other))
  })

  it.each([
    ['the order of items', '[1,2]', '[2,1]'],
    ['types', '{"a":"1"}', '{"a":1}'],
    ['null and absence', '{"a":null}', '{}'],
    ['where lists end', '[[1],[2]]', '[[1,2]]'],
    ['where strings end', '["a,","b"]', '["a",",b"]'],
    ['lone surrogates', '["\\ud800"]', '["\\udbff"]'],
    ['own members called __proto__', '{"__proto__":1}', '{"__proto__":2}'],
  ])('tells %s apart', (_, one, other) => {
    expect(hash(one)).not.toBe(hash(other))
  })

  it('gives two values one hash only when they are the same value', () => {
    fc.assert(
      fc.property(fc.json(), fc.json(), (one, other) => {
        expect(hash(one) === hash(other)).toBe(isDeepStrictEqual(JSON.parse(one), JSON.parse(other)))
      }),
    )
  })

  it('refuses what is nested deeper than any real body, before the stack ends', () => {
    const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
    expect(hash(nested(100))).toHaveLength(64)
    expect(() => hash(nested(100_000))).toThrow('nested more than 100 levels')
  })
})
