import { sign as cryptoSign } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { edKey, forge, hmac, rejectionOf, segment } from '../test/keys.js'
import { claims, ec, ed, expectRefused, now, publicSetOf, ringOf, rings, rsa } from '../test/rings.js'
import { MAX_TOKEN_LENGTH } from './compact-token.js'
import { JwtError, KeySet, signJwt, verifyJwt } from './index.js'

describe('the algorithm belongs to the key', () => {
  it.each(['none', 'None', 'NONE', 'nOnE', ''])('alg %j is refused, signed or not', async (alg) => {
    await expectRefused('malformed', `${segment({ alg, typ: 'JWT' })}.${segment(claims)}.`)
    await expectRefused('algorithm', forge({ alg, typ: 'JWT' }, claims))
    await expectRefused('algorithm', forge({ alg, typ: 'JWT', kid: rsa.kid }, claims, hmac))
  })

  it.each([
    'hs256',
    'HS256 ',
    'HS384',
    'HS512',
    'RS512',
    'PS256',
    'ES384',
    'ES256K',
    'Ed25519',
    '__proto__',
    'constructor',
  ])('alg %j, which no key has, is refused', async (alg) =>
    expectRefused('algorithm', forge({ alg, typ: 'JWT' }, claims, hmac)),
  )

  it('an HMAC made with a public key as secret is refused, in every form the key is published in', async () => {
    const { publicKey } = rsa
    const publicForms = [
      publicKey.export({ type: 'spki', format: 'pem' }),
      publicKey.export({ type: 'pkcs1', format: 'pem' }),
      publicKey.export({ type: 'spki', format: 'der' }),
      JSON.stringify({ keys: [rsa.publicJwk] }),
      String(rsa.publicJwk.n),
    ]
    for (const form of publicForms) {
      const mac = (input: string) => hmac(input, form)
      await expectRefused('algorithm', forge({ alg: 'HS256', typ: 'JWT', kid: rsa.kid }, claims, mac))
      await expectRefused('bad_signature', forge({ alg: 'HS256', typ: 'JWT' }, claims, mac))
    }
  })

  it('a token that names a key of another algorithm is refused though its signature is genuine', async () => {
    const sha = (key: typeof rsa) => (input: string) =>
      cryptoSign('sha256', Buffer.from(input), { key: key.privateKey, dsaEncoding: 'ieee-p1363' })
    await expectRefused('algorithm', forge({ alg: 'RS256', kid: ec.kid }, claims, sha(rsa)))
    await expectRefused('algorithm', forge({ alg: 'ES256', kid: rsa.kid }, claims, sha(ec)))
    await expectRefused('algorithm', forge({ alg: 'EdDSA', kid: rsa.kid }, claims, sha(rsa)))
    await expectRefused('algorithm', forge({ alg: 'RS256', kid: 'main' }, claims, sha(rsa)))
    await expectRefused('algorithm', forge({ alg: 'HS256', kid: ed.kid }, claims, hmac))
  })

  it('an algorithm that AUTH_JWT_VALID_METHODS leaves out is refused, the HS256 fallback too', async () => {
    const { signingKey, keys } = ringOf(ec, [rsa])
    const secret = rings.HS256.signingKey
    const ring = Object.assign(new KeySet(keys, { secret, algorithms: ['ES256'] }), { signingKey })
    await expect(verifyJwt(ring, await signJwt(ring, claims), { now })).resolves.toEqual(claims)
    await expectRefused('algorithm', await signJwt(rings.RS256, claims), ring)
    await expectRefused('algorithm', await signJwt(rings.HS256, claims), ring)
  })
})

describe('the key name', () => {
  it.each([
    undefined,
    '',
    'main',
    'unknown',
    '__proto__',
    'constructor',
    '../../dev/null',
    "' or 1=1 --",
    'ä',
  ])('HS256 with kid %j is verified with the secret, as service tokens minted outside need', async (kid) => {
    const token = forge({ alg: 'HS256', typ: 'JWT', kid }, claims, hmac)
    await expect(verifyJwt(rings.RS256, token, { now })).resolves.toEqual(claims)
  })

  it.each([undefined, '', 'unknown', '__proto__', 'constructor', 'toString'])(
    'RS256 with kid %j is refused though the signature is genuine',
    async (kid) => {
      const bySha = (input: string) => cryptoSign('sha256', Buffer.from(input), rsa.privateKey)
      await expectRefused('unknown_key', forge({ alg: 'RS256', typ: 'JWT', kid }, claims, bySha))
    },
  )

  it.each([null, 7, true, ['rsa'], { kid: 'rsa' }])('kid %j is malformed', async (kid) => {
    await expectRefused('malformed', forge({ alg: 'HS256', kid }, claims, hmac))
  })

  it('the key inside a token, or the address of one, is never used', async () => {
    const own = edKey()
    const byOwn = (input: string) => cryptoSign(null, Buffer.from(input), own.privateKey)
    const header = {
      alg: 'EdDSA',
      typ: 'JWT',
      jwk: own.publicJwk,
      jku: 'http://127.0.0.1:9/',
      x5u: 'http://127.0.0.1:9/',
    }
    await expectRefused('unknown_key', forge(header, claims, byOwn))
    await expectRefused('bad_signature', forge({ ...header, kid: ed.kid }, claims, byOwn))
  })

  it('in a set of public keys has no fallback', async () => {
    const keys = publicSetOf(rsa.publicJwk, ec.publicJwk, ed.publicJwk)
    for (const ring of [rings.RS256, rings.ES256, rings.EdDSA]) {
      await expect(verifyJwt(keys, await signJwt(ring, claims), { now })).resolves.toEqual(claims)
    }
    const unnamed = forge({ alg: 'HS256', typ: 'JWT' }, claims, hmac)
    expect(await rejectionOf(verifyJwt(keys, unnamed))).toMatchObject({ reason: 'unknown_key' })
    const byPublicKey = (input: string) => hmac(input, rsa.publicKey.export({ type: 'spki', format: 'pem' }))
    const confused = forge({ alg: 'HS256', typ: 'JWT', kid: rsa.kid }, claims, byPublicKey)
    expect(await rejectionOf(verifyJwt(keys, confused))).toMatchObject({ reason: 'algorithm' })
  })
})

describe('signatures have one spelling', () => {
  const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n // of the Ed25519 group, RFC 8032 section 5.1

  it('an EdDSA signature with S + L in place of S is refused', async () => {
    const [header, payload, signature = ''] = (await signJwt(rings.EdDSA, claims)).split('.')
    const bytes = Buffer.from(signature, 'base64url')
    const s = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString('hex')}`)
    const forged = Buffer.from((s + ORDER).toString(16).padStart(64, '0'), 'hex').reverse()
    const token = `${header}.${payload}.${Buffer.concat([bytes.subarray(0, 32), forged]).toString('base64url')}`
    await expectRefused('bad_signature', token)
  })

  it('unused bits in the last character are refused in all three segments', async () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    for (const padding of ['', 'x', 'xx']) {
      const parts = forge({ alg: 'HS256', typ: 'JWT', x: padding }, { ...claims, x: padding }, hmac).split(
        '.',
      )
      for (const [index, part] of parts.entries()) {
        if (part.length % 4 === 0) continue
        const last = alphabet.indexOf(part.slice(-1))
        const twin = parts.with(index, part.slice(0, -1) + alphabet[last + 1])
        expect(Buffer.from(twin[index] ?? '', 'base64url')).toEqual(Buffer.from(part, 'base64url'))
        await expectRefused('malformed', twin.join('.'))
      }
    }
  })

  it('padding, white space, standard base64 and extra segments are refused', async () => {
    const token = await signJwt(rings.HS256, claims)
    const spoiled = [
      `${token}=`,
      ` ${token}`,
      `${token}\n`,
      `${token}.`,
      `.${token}`,
      `${token}.e30`,
      token.replace('.', '..'),
      token.replace('.', '.\u0000'),
      token.replace('.', '+.'),
    ]
    for (const bad of spoiled) await expectRefused('malformed', bad)
  })
})

describe('the form of a token', () => {
  const signed = (header: unknown, payload: unknown = claims) => forge(header, payload, hmac)

  it.each([
    ['an array', []],
    ['null', null],
    ['a text', '"HS256"'],
    ['no JSON', '{alg:HS256}'],
    ['cut JSON', '{"alg":"HS256"'],
    ['empty', ' '],
    ['without alg', { typ: 'JWT' }],
    ['with an alg that is a list', { alg: ['HS256'] }],
    ['with an alg in the prototype', '{"__proto__":{"alg":"HS256"}}'],
    ['of another type', { alg: 'HS256', typ: 'at+jwt' }],
    ['with a type that is no text', { alg: 'HS256', typ: 1 }],
    ['with critical extensions', { alg: 'HS256', crit: ['exp'], exp: 1 }],
    ['with an empty crit', { alg: 'HS256', crit: [] }],
    ['with an unencoded payload, not marked critical', { alg: 'HS256', b64: false }],
    ['with an unencoded payload', { alg: 'HS256', b64: false, crit: ['b64'] }],
    ['with two algs', '{"alg":"none","alg":"HS256"}'],
    ['with two kids, one escaped', '{"alg":"HS256","kid":"a","k\\u0069d":"main"}'],
    ['with two nested values of one name', '{"alg":"HS256","x":{"a:b":1},"x":[{"c":"\\"}:"}]}'],
  ])('a header %s is refused', async (_, header) => expectRefused('malformed', signed(header)))

  it('a header may lack typ, write it in any case and hold unknown names', async () => {
    const headers = [
      { alg: 'HS256' },
      { alg: 'HS256', typ: 'jwt' },
      { alg: 'HS256', x: { alg: 'none', 'y:}': ['{"'] } },
      '{ "alg" : "HS256" , "a" : "\\\\" }',
    ]
    for (const header of headers)
      await expect(verifyJwt(rings.RS256, signed(header), { now })).resolves.toEqual(claims)
  })

  it('a header may hold lists and objects before other members', async () => {
    for (const x of [[1], [[{ a: 1 }], 2], { a: [{ b: {} }] }]) {
      const header = { x, alg: 'HS256', y: 1 }
      await expect(verifyJwt(rings.RS256, signed(header), { now })).resolves.toEqual(claims)
    }
  })

  it('a token of just the size limit is accepted, a longer one is not', async () => {
    const sized = (filler: number) => signed({ alg: 'HS256', x: 'x' }, { filler: 'x'.repeat(filler) })
    let filler = 49_000
    while (sized(filler).length < MAX_TOKEN_LENGTH) filler += 1
    expect(sized(filler)).toHaveLength(MAX_TOKEN_LENGTH)
    await expect(verifyJwt(rings.RS256, sized(filler), { now })).resolves.toBeDefined()
    await expectRefused('malformed', sized(filler + 1))
  })

  it.each([[[]], ['"text"'], ['7'], ['{"exp":'], [' '], ['{"__proto__":{"role":"service_role"}}']])(
    'a signed payload %j is refused',
    async (payload) => expectRefused('malformed', signed({ alg: 'HS256', typ: 'JWT' }, payload)),
  )

  it('a signed EdDSA payload that is not an object is refused', async () => {
    const byEd = (input: string) => cryptoSign(null, Buffer.from(input), ed.privateKey)
    for (const payload of ['[]', 'x', '7', 'null']) {
      await expectRefused('malformed', forge({ alg: 'EdDSA', kid: ed.kid }, payload, byEd))
    }
  })

  it('a signed payload null, on which jsonwebtoken stumbles, is refused', async () => {
    expect(
      await rejectionOf(verifyJwt(rings.RS256, signed({ alg: 'HS256', typ: 'JWT' }, null))),
    ).toBeInstanceOf(JwtError)
  })

  it('of two equal claims the last one counts', async () => {
    const token = signed({ alg: 'HS256' }, '{"sub":"first","sub":"last"}')
    await expect(verifyJwt(rings.RS256, token, { now })).resolves.toEqual({ sub: 'last' })
  })

  it.each([
    { exp: '9999999999' },
    { exp: null },
    { nbf: true },
    { iat: [1] },
    { sub: 7 },
    { iss: {} },
    { jti: 1 },
    { aud: 1 },
    { aud: ['a', 1] },
    '{"exp":1e999}',
  ])('registered claims of a wrong type are refused: %j', async (payload) => {
    await expectRefused('malformed', signed({ alg: 'HS256' }, payload))
  })

  it('a token above the size limit is refused before anything is decoded', async () => {
    const fits = await signJwt(rings.HS256, { ...claims, filler: 'x'.repeat(48_000) })
    expect(fits.length).toBeLessThan(MAX_TOKEN_LENGTH)
    await expect(verifyJwt(rings.HS256, fits, { now })).resolves.toMatchObject(claims)
    await expectRefused(
      'malformed',
      await signJwt(rings.HS256, { ...claims, filler: 'x'.repeat(MAX_TOKEN_LENGTH) }),
    )
    await expectRefused('malformed', 'a'.repeat(50_000_000))
    await expectRefused('malformed', '.'.repeat(MAX_TOKEN_LENGTH))
  })

  it('deep nesting within the size limit is harmless', async () => {
    const depth = 20_000
    const header = `{"alg":"HS256","x":${'['.repeat(depth)}${']'.repeat(depth)}}`
    await expect(verifyJwt(rings.RS256, signed(header), { now })).resolves.toEqual(claims)
    await expectRefused('malformed', signed(`{"alg":"HS256","x":${'['.repeat(depth)}`))
  })

  it.each([undefined, null, 7, {}, ['a.b.c'], Buffer.from('a.b.c')])('%j is not a token', async (value) => {
    await expectRefused('malformed', value as string)
  })

  it('whatever the input, the answer is a JwtError', async () => {
    const part = fc.oneof(fc.string(), fc.json(), fc.base64String())
    const property = fc.asyncProperty(
      part,
      part,
      part,
      fc.boolean(),
      async (header, payload, signature, encode) => {
        const parts = encode
          ? [segment(header), segment(payload), segment(signature)]
          : [header, payload, signature]
        expect(await rejectionOf(verifyJwt(rings.RS256, parts.join('.'), { now }))).toBeInstanceOf(JwtError)
      },
    )
    await fc.assert(property, { numRuns: 500 })
  })

  it('an error repeats nothing of the token', async () => {
    const error = await rejectionOf(
      verifyJwt(rings.HS256, await signJwt(rings.HS256, { sub: 'someone', exp: 1 }), { now }),
    )
    expect(String(error)).toBe('JwtError: the token has expired')
  })
})
