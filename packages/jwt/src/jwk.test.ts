import { describe, expect, it } from '@jest/globals'
import { ecKey, edKey, rsaKey, SECRET } from '../test/keys.js'
import { importJwk, importJwks, parseJwks } from './index.js'

const rsa = rsaKey()
const ec = ecKey()
const ed = edKey()
const oct = { kty: 'oct', kid: 'oct', k: Buffer.from(SECRET).toString('base64url') }

/** What is wrong with a key, or undefined. */
function problemOf(jwk: unknown): string | undefined {
  try {
    importJwk(jwk)
    return undefined
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError)
    return (error as TypeError).message
  }
}

describe('a JWK', () => {
  it.each([
    ['RS256', rsa],
    ['ES256', ec],
    ['EdDSA', ed],
  ])('is for %s by its type, and gives what verifies, also when it is private', (alg, key) => {
    for (const jwk of [key.publicJwk, key.jwk, { ...key.publicJwk, alg, use: 'sig' }]) {
      const imported = importJwk(jwk)
      expect(imported).toMatchObject({ alg, kid: key.kid, verifyKey: { type: 'public' } })
      expect(imported.verifyKey.equals(key.publicKey)).toBe(true)
      expect(imported).not.toHaveProperty('signKey')
    }
  })

  it('may be a secret for HS256', () => {
    const { verifyKey, ...rest } = importJwk({ ...oct, alg: 'HS256' })
    expect(rest).toEqual({ alg: 'HS256', kid: 'oct' })
    expect(verifyKey.export().toString()).toBe(SECRET)
  })

  it('may have a kid of 1 to 255 printable ASCII characters', () => {
    for (const kid of ['k', ' ~', 'k'.repeat(255)]) expect(problemOf({ ...rsa.jwk, kid })).toBeUndefined()
    for (const kid of ['', 'ä', 'a\n', 'ab\u007f', '\u001fab', 'k'.repeat(256), undefined, 7])
      expect(problemOf({ ...rsa.jwk, kid })).toBe('kid must be 1 to 255 printable ASCII characters')
  })

  it('may list the operations sign and verify, or none', () => {
    for (const operations of [['sign'], ['verify'], ['verify', 'sign'], ['verify', 'verify'], undefined])
      expect(problemOf({ ...rsa.jwk, key_ops: operations })).toBeUndefined()
    for (const operations of [['decrypt'], ['verify', 'decrypt'], [], 'sign', null])
      expect(problemOf({ ...rsa.jwk, key_ops: operations })).toBe(
        'key_ops must list "verify", "sign" or both',
      )
  })

  it('of RSA has an odd exponent of at least 3', () => {
    expect(problemOf({ ...rsa.publicJwk, e: 'Aw' })).toBeUndefined()
    for (const e of ['AQ', 'BA'])
      expect(problemOf({ ...rsa.publicJwk, e })).toBe('the RSA exponent must be odd and at least 3')
  })

  it.each([[null], [7], [[]], ['text']])('%j is none', (jwk) => {
    expect(problemOf(jwk)).toBe('must be an object')
  })

  it.each([[7], [undefined], ['a b'], [`${oct.k}=`], [` ${oct.k}`], [`${oct.k}+/==`], ['']])(
    'with a secret of %j is none',
    (k) => expect(problemOf({ ...oct, k })).toBe('must have k in base64url'),
  )

  it.each([
    ['an unknown kty', { ...rsa.jwk, kty: 'rsa' }, 'kty must be RSA, EC, OKP or oct'],
    ['a kty from the prototype', { ...rsa.jwk, kty: 'constructor' }, 'kty must be RSA, EC, OKP or oct'],
    ['an RSA key for PS256', { ...rsa.jwk, alg: 'PS256' }, 'alg must be RS256 for this kty'],
    ['an RSA key for HS256', { ...rsa.jwk, alg: 'HS256' }, 'alg must be RS256 for this kty'],
    ['an Ed25519 key for ES256', { ...ed.jwk, alg: 'ES256' }, 'alg must be EdDSA for this kty'],
    ['an encryption key', { ...rsa.jwk, use: 'enc' }, 'use must be "sig"'],
    ['a curve other than P-256', ecKey('p384', 'P-384').jwk, 'crv must be P-256 for this kty'],
    ['a key-agreement curve', { ...ed.jwk, crv: 'X25519' }, 'crv must be Ed25519 for this kty'],
    ['a missing member', { ...rsa.jwk, n: undefined }, 'the public part is not a valid key'],
    ['a small RSA key', rsaKey('small', 2040).jwk, 'an RSA key needs at least 2048 bits'],
    ['a point off the curve', { ...ec.publicJwk, y: ec.publicJwk.x }, 'the public part is not a valid key'],
    ['a short Ed25519 key', { ...ed.publicJwk, x: 'AAAA' }, 'the public part is not a valid key'],
    [
      'a short oct key',
      { ...oct, k: 'AAAA' },
      'an HS256 secret needs at least 32 bytes (RFC 7518 section 3.2)',
    ],
  ])('%s is refused', (_, jwk, problem) => {
    expect(problemOf(jwk)).toBe(problem)
  })
})

describe('a list of keys', () => {
  it('gives the good ones and names the position of the others', () => {
    const list = [
      rsaKey('small', 1024).publicJwk,
      rsa.publicJwk,
      'text',
      { ...ed.publicJwk, kid: 'rsa' },
      ec.jwk,
    ]
    const { keys, problems } = importJwks(list)
    expect(keys.map(({ kid, alg }) => [kid, alg])).toEqual([
      ['rsa', 'RS256'],
      ['ec', 'ES256'],
    ])
    expect(problems).toEqual([
      '[0] an RSA key needs at least 2048 bits',
      '[2] must be an object',
      '[3] has the kid of another key',
    ])
    expect(importJwks([])).toEqual({ keys: [], problems: [] })
  })

  it('can be imported by other rules, whose unexpected errors are not repeated', () => {
    const { keys, problems } = importJwks([rsa.jwk, ec.jwk], (jwk) => {
      if (jwk === rsa.jwk) throw new Error(String(rsa.jwk.d))
      return importJwk(ec.publicJwk)
    })
    expect(keys).toHaveLength(1)
    expect(problems).toEqual(['[0] is unusable'])
  })

  it('is a JSON array or a JWK Set', () => {
    expect(parseJwks(JSON.stringify([rsa.publicJwk]))).toEqual([rsa.publicJwk])
    expect(parseJwks(JSON.stringify({ keys: [rsa.publicJwk] }))).toEqual([rsa.publicJwk])
    for (const text of ['nonsense', '{"keys":{}}', '{}', '7', 'null', '"[]"'])
      expect(parseJwks(text)).toBeUndefined()
  })
})
