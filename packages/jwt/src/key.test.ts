import { describe, expect, it } from '@jest/globals'
import { SECRET } from '../test/keys.js'
import { ec, publicSetOf, ringOf, rsa } from '../test/rings.js'
import { importSecret, type JwtError, KeySet } from './index.js'
import type { JwtHeader } from './key.js'

describe('a set of keys', () => {
  const found = (keys: KeySet, header: JwtHeader) => {
    try {
      const { alg, kid } = keys.findKey(header)
      return `${alg} ${kid}`
    } catch (error) {
      return (error as JwtError).reason
    }
  }

  it('gives the key of the name for its own algorithm, and the secret for HS256 without a known name', () => {
    const ring = ringOf(ec, [rsa], { keyId: 'main' })
    expect(found(ring, { alg: 'ES256', kid: 'ec' })).toBe('ES256 ec')
    expect(found(ring, { alg: 'RS256', kid: 'rsa' })).toBe('RS256 rsa')
    for (const kid of [undefined, 'main', 'other'])
      expect(found(ring, { alg: 'HS256', kid })).toBe('HS256 main')
    for (const [alg, kid] of [
      ['RS256', 'ec'],
      ['HS256', 'ec'],
      ['EdDSA', 'ec'],
      ['RS256', 'main'],
      ['none', 'ec'],
    ] as const)
      expect(found(ring, { alg, kid })).toBe('algorithm')
    for (const kid of [undefined, 'other']) expect(found(ring, { alg: 'RS256', kid })).toBe('unknown_key')
  })

  it('with a secret without a name finds it only for HS256', () => {
    expect(found(ringOf(), { alg: 'HS256' })).toBe('HS256 undefined')
    expect(found(ringOf(), { alg: 'RS256' })).toBe('unknown_key')
  })

  it('without a secret finds only keys that are named', () => {
    const keys = publicSetOf(rsa.publicJwk, ec.publicJwk)
    expect(found(keys, { alg: 'RS256', kid: 'rsa' })).toBe('RS256 rsa')
    for (const kid of [undefined, 'other'])
      for (const alg of ['HS256', 'RS256']) expect(found(keys, { alg, kid })).toBe('unknown_key')
  })

  it('accepts only the algorithms that are set', () => {
    const { keys, signingKey: secret } = { ...ringOf(), keys: ringOf(ec, [rsa]).keys }
    const strict = new KeySet(keys, { secret, algorithms: ['ES256'] })
    expect(found(strict, { alg: 'ES256', kid: 'ec' })).toBe('ES256 ec')
    expect(found(strict, { alg: 'RS256', kid: 'rsa' })).toBe('algorithm')
    expect(found(strict, { alg: 'HS256' })).toBe('algorithm')
  })
})

describe('an HS256 secret', () => {
  it.each(['', 'x'.repeat(31), 'ä'.repeat(15)])('like %j is too short', (secret) => {
    expect(() => importSecret(Buffer.from(secret))).toThrow(
      new TypeError('an HS256 secret needs at least 32 bytes (RFC 7518 section 3.2)'),
    )
  })

  it('has at least eight different bytes', () => {
    const distinct = (count: number) => Buffer.from(Array.from({ length: 32 }, (_, i) => 65 + (i % count)))
    expect(importSecret(distinct(8))).toMatchObject({ alg: 'HS256', kid: undefined })
    for (const weak of [distinct(7), Buffer.from('a'.repeat(64)), Buffer.from('abcabcabc'.repeat(8))])
      expect(() => importSecret(weak)).toThrow(
        new TypeError('an HS256 secret must not repeat a few characters; use a random value'),
      )
  })

  it('signs and verifies, and may have a name', () => {
    const { alg, kid, signKey, verifyKey } = importSecret(Buffer.from(SECRET), 'main')
    expect([alg, kid]).toEqual(['HS256', 'main'])
    expect(signKey).toBe(verifyKey)
  })
})
