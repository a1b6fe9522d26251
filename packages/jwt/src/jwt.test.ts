import { describe, expect, it } from '@jest/globals'
import { ecKey, edKey, forge, hmac, rejectionOf, rsaKey, SECRET, segment } from '../test/keys.js'
import { claims, ec, ed, expectRefused, now, ringOf, rings, rsa, SECONDS } from '../test/rings.js'
import { JWT_ALGORITHMS, JwtError, type JwtErrorReason, signJwt, verifyJwt } from './index.js'

describe.each(JWT_ALGORITHMS)('%s tokens', (alg) => {
  it('carry their claims unchanged from signer to verifier', async () => {
    const ring = rings[alg]
    const odd = { ...claims, text: 'ä \u2028 😀 \ud800', nested: { deep: [1, null, { x: true }] } }
    await expect(verifyJwt(ring, await signJwt(ring, odd), { now })).resolves.toEqual(odd)
  })

  it('name algorithm, type and key in the header and add no claim', async () => {
    const ring = rings[alg]
    const [header = '', payload = ''] = (await signJwt(ring, { sub: 'u1' })).split('.')
    expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toEqual({
      alg,
      typ: 'JWT',
      kid: alg === 'HS256' ? 'main' : ring.signingKey.kid,
    })
    expect(Buffer.from(payload, 'base64url').toString()).toBe('{"sub":"u1"}')
  })

  it('are refused after a change of any one character', async () => {
    const ring = rings[alg]
    const token = await signJwt(ring, claims)
    for (let at = 0; at < token.length; at += alg === 'RS256' ? 7 : 1) {
      const other = token[at] === 'A' ? 'B' : 'A'
      const error = await rejectionOf(
        verifyJwt(ring, token.slice(0, at) + other + token.slice(at + 1), { now }),
      )
      expect(error).toBeInstanceOf(JwtError)
    }
  })

  it('are refused when cut short at any place', async () => {
    const ring = rings[alg]
    const token = await signJwt(ring, claims)
    for (let length = 0; length < token.length; length += 1) {
      expect(await rejectionOf(verifyJwt(ring, token.slice(0, length), { now }))).toBeInstanceOf(JwtError)
    }
  })

  it('are refused with the claims of another token', async () => {
    const ring = rings[alg]
    const [header, , signature] = (await signJwt(ring, claims)).split('.')
    await expectRefused(
      'bad_signature',
      `${header}.${segment({ ...claims, sub: 'admin' })}.${signature}`,
      ring,
    )
  })

  it('are refused when signed by another key of the same kind and name', async () => {
    const ring = rings[alg]
    const foreign = {
      HS256: () => ringOf(undefined, [], { secret: `${SECRET}x`, keyId: 'main' }),
      RS256: () => ringOf(rsaKey(rsa.kid)),
      ES256: () => ringOf(ecKey(ec.kid)),
      EdDSA: () => ringOf(edKey(ed.kid)),
    }[alg]()
    await expectRefused('bad_signature', await signJwt(foreign, claims), ring)
  })

  it('are refused with an empty, short, long or all-zero signature', async () => {
    const ring = rings[alg]
    const [header, payload, signature = ''] = (await signJwt(ring, claims)).split('.')
    const bytes = Buffer.from(signature, 'base64url')
    await expectRefused('malformed', `${header}.${payload}.`, ring)
    for (const bad of [
      bytes.subarray(1),
      Buffer.concat([bytes, Buffer.of(0)]),
      Buffer.alloc(bytes.length),
      Buffer.of(0),
    ]) {
      await expectRefused('bad_signature', `${header}.${payload}.${bad.toString('base64url')}`, ring)
    }
  })
})

describe('claims', () => {
  const verify = async (payload: object, options = {}) =>
    verifyJwt(rings.HS256, await signJwt(rings.HS256, { ...payload }), { now, ...options })

  it('a token ends with the second of exp', async () => {
    await expect(verify({ exp: SECONDS + 1 })).resolves.toBeDefined()
    await expect(verify({ exp: SECONDS })).rejects.toMatchObject({ reason: 'expired' })
    await expect(verify({ exp: 0 })).rejects.toMatchObject({ reason: 'expired' })
  })

  it('a token begins with the second of nbf', async () => {
    await expect(verify({ nbf: SECONDS })).resolves.toBeDefined()
    await expect(verify({ nbf: SECONDS + 1 })).rejects.toMatchObject({ reason: 'not_yet_valid' })
  })

  it('the skew moves both ends by that many seconds and no more', async () => {
    const clockSkewSeconds = 30
    await expect(verify({ exp: SECONDS - 29 }, { clockSkewSeconds })).resolves.toBeDefined()
    await expect(verify({ exp: SECONDS - 30 }, { clockSkewSeconds })).rejects.toMatchObject({
      reason: 'expired',
    })
    await expect(verify({ nbf: SECONDS + 30 }, { clockSkewSeconds })).resolves.toBeDefined()
    await expect(verify({ nbf: SECONDS + 31 }, { clockSkewSeconds })).rejects.toMatchObject({
      reason: 'not_yet_valid',
    })
  })

  it('exp may be absent unless it is required', async () => {
    await expect(verify({ role: 'service_role' })).resolves.toEqual({ role: 'service_role' })
    await expect(verify({ sub: 'u1' }, { requireExp: true })).rejects.toMatchObject({ reason: 'missing_exp' })
    await expect(verify(claims, { requireExp: true })).resolves.toEqual(claims)
  })

  it('the system clock is used when none is given', async () => {
    const seconds = Math.floor(Date.now() / 1000)
    await expect(
      verifyJwt(rings.HS256, await signJwt(rings.HS256, { exp: seconds + 60 })),
    ).resolves.toBeDefined()
    await expect(
      verifyJwt(rings.HS256, await signJwt(rings.HS256, { exp: seconds - 60 })),
    ).rejects.toMatchObject({
      reason: 'expired',
    })
  })

  it.each([
    ['a', 'a', true],
    [['x', 'a'], 'a', true],
    ['a', ['x', 'a'], true],
    ['A', 'a', false],
    ['ab', 'a', false],
    [[], 'a', false],
    [undefined, 'a', false],
    ['a', [], false],
    ['', 'a', false],
    ['a', '', false],
  ])('aud %j against the audience %j: %j', async (aud, audience, good) => {
    const result = verify({ aud }, { audience })
    await (good
      ? expect(result).resolves.toBeDefined()
      : expect(result).rejects.toMatchObject({ reason: 'audience' }))
  })

  it.each([
    ['https://a', 'https://a', true],
    ['https://b', ['https://a', 'https://b'], true],
    ['https://a/', 'https://a', false],
    [undefined, 'https://a', false],
  ])('iss %j against the issuer %j: %j', async (iss, issuer, good) => {
    const result = verify({ iss }, { issuer })
    await (good
      ? expect(result).resolves.toBeDefined()
      : expect(result).rejects.toMatchObject({ reason: 'issuer' }))
  })

  it('the signature is checked before any claim, so that a forger learns nothing about the rules', async () => {
    const token = forge({ alg: 'HS256' }, { exp: 1 }, (input) => hmac(input, 'x'))
    await expectRefused('bad_signature', token)
  })

  it('times that are not whole seconds are not signed', async () => {
    for (const time of [1.5, -1, NaN, Infinity, Date.now() * 1e6]) {
      for (const name of ['iat', 'exp', 'nbf'])
        await expect(signJwt(rings.HS256, { [name]: time })).rejects.toThrow(
          new TypeError(`The claim ${name} must be whole seconds since 1970`),
        )
    }
    await expect(signJwt(rings.HS256, { iat: 0, nbf: 0 })).resolves.toBeDefined()
  })

  it('a key without its private part signs nothing', async () => {
    const { signKey: _none, ...signingKey } = rings.ES256.signingKey
    await expect(signJwt({ signingKey }, claims)).rejects.toThrow(new TypeError('The key can only verify'))
  })

  it('a token of a key without a name has no kid', async () => {
    const [header = ''] = (await signJwt(ringOf(), claims)).split('.')
    expect(Buffer.from(header, 'base64url').toString()).toBe('{"alg":"HS256","typ":"JWT"}')
  })

  it('that are refused are refused with the cause, for the log', async () => {
    const forged = forge({ alg: 'HS256' }, claims, (input) => hmac(input, 'x'))
    expect(await rejectionOf(verifyJwt(rings.HS256, forged, { now }))).toMatchObject({
      reason: 'bad_signature',
      cause: { message: 'invalid signature' },
    })
  })
})

describe('repeated headers', () => {
  const ring = () => ringOf()

  it('are verified by their key and signature each time', async () => {
    const header = { alg: 'HS256', kid: 'seen before' }
    await expect(verifyJwt(ring(), forge(header, claims, hmac), { now })).resolves.toEqual(claims)
    await expectRefused('bad_signature', forge(header, { ...claims, sub: 'another' }))
    await expectRefused('malformed', forge({ ...header, crit: ['exp'] }, claims, hmac))
    await expectRefused('malformed', forge({ ...header, crit: ['exp'] }, claims, hmac))
  })

  it('are read through a flood of others', async () => {
    const sameRing = ring()
    const token = await signJwt(sameRing, claims)
    for (let n = 0; n < 250; n += 1)
      await verifyJwt(sameRing, forge({ alg: 'HS256', kid: `flood ${n}` }, claims, hmac), { now })
    await expect(verifyJwt(sameRing, token, { now })).resolves.toEqual(claims)
  })
})

it('every reason for a refusal has its own message, which repeats nothing of the token', () => {
  const messages = {
    malformed: 'the token is not a well-formed JWT',
    algorithm: 'the algorithm of the token is not accepted',
    unknown_key: 'no known key belongs to the token',
    bad_signature: 'the signature of the token does not verify',
    missing_exp: 'the token has no expiry time',
    expired: 'the token has expired',
    not_yet_valid: 'the token is not valid yet',
    audience: 'the token is meant for another audience',
    issuer: 'the token comes from another issuer',
  } satisfies Record<JwtErrorReason, string>
  for (const [reason, message] of Object.entries(messages))
    expect(new JwtError(reason as JwtErrorReason)).toMatchObject({ name: 'JwtError', reason, message })
})
