import { inspect } from 'node:util'
import { describe, expect, it } from '@jest/globals'
import { type JwtError, signJwt, verifyJwt } from '@signet/jwt'
import { ecKey, edKey, rsaKey, type KeyPair } from '@signet/testkit/key-pairs'
import { createLocalJWKSet, importJWK, jwtVerify, type JSONWebKeySet } from 'jose'
import { KeyRing, KeySettingsError, type KeyProblem, type KeySettings } from './key-ring.js'
import { importPrivateJwk } from './private-jwk.js'

const SECRET = 'a secret with more than thirty-two bytes'
/** Entries of AUTH_JWT_KEYS: one that signs and verifies, and one that only verifies. */
const signing = ({ jwk }: KeyPair) => ({ ...jwk, key_ops: ['sign', 'verify'] })
const verifying = ({ jwk }: KeyPair) => ({ ...jwk, key_ops: ['verify'] })

const rsa = rsaKey()
const ec = ecKey()
const ed = edKey()
const oct = { kty: 'oct', kid: 'oct', k: Buffer.from(SECRET).toString('base64url') }

function problemsOf(create: () => unknown): readonly KeyProblem[] {
  try {
    create()
  } catch (error) {
    if (error instanceof KeySettingsError) return error.problems
    throw error
  }
  return []
}

const ringProblems = (settings: Partial<KeySettings>) =>
  problemsOf(() => KeyRing.create({ secret: SECRET, ...settings }))
const keyProblems = (...keys: unknown[]) =>
  ringProblems({ keys: JSON.stringify(keys) }).map(({ setting, message }) => `${setting} ${message}`)
describe('the signing key', () => {
  it('is the secret when no keys are set; empty settings count as unset', () => {
    const ring = KeyRing.create({ secret: SECRET, keyId: '', keys: '', validMethods: [] })
    expect(ring.signingKey).toMatchObject({ alg: 'HS256', kid: undefined })
    expect(KeyRing.create({ secret: SECRET, keyId: 'main' }).signingKey).toMatchObject({
      alg: 'HS256',
      kid: 'main',
    })
  })

  it.each([
    ['RS256', rsa],
    ['ES256', ec],
    ['EdDSA', ed],
  ])('is the key with sign in key_ops, %s by default of its type', (alg, key) => {
    const others = [rsa, ec, ed].filter((other) => other !== key).map(verifying)
    for (const list of [
      [signing(key), ...others],
      [...others, { ...signing(key), alg, use: 'sig' }],
    ]) {
      for (const keys of [JSON.stringify(list), JSON.stringify({ keys: list })]) {
        expect(KeyRing.create({ secret: SECRET, keys }).signingKey).toMatchObject({ alg, kid: key.kid })
      }
    }
  })

  it('may be an oct key, which is never published', () => {
    const keys = JSON.stringify([{ ...oct, key_ops: ['sign', 'verify'] }])
    const ring = KeyRing.create({ secret: SECRET, keys })
    expect(ring.signingKey).toMatchObject({ alg: 'HS256', kid: 'oct' })
    expect(ring.publicJwks()).toEqual({ keys: [] })
  })
})

describe('publicJwks', () => {
  it('is empty with a secret alone', () => {
    expect(KeyRing.create({ secret: SECRET, keyId: 'main' }).publicJwks()).toEqual({ keys: [] })
  })

  it('lists exactly the public members of every asymmetric key, in the order of the setting', () => {
    const keys = JSON.stringify([verifying(rsa), { ...oct, key_ops: ['verify'] }, signing(ec), verifying(ed)])
    const common = { use: 'sig', key_ops: ['verify'] }
    expect(KeyRing.create({ secret: SECRET, keys }).publicJwks()).toEqual({
      keys: [
        { kid: 'rsa', kty: 'RSA', alg: 'RS256', ...common, n: rsa.publicJwk.n, e: 'AQAB' },
        { kid: 'ec', kty: 'EC', alg: 'ES256', ...common, crv: 'P-256', x: ec.publicJwk.x, y: ec.publicJwk.y },
        { kid: 'ed', kty: 'OKP', alg: 'EdDSA', ...common, crv: 'Ed25519', x: ed.publicJwk.x },
      ],
    })
  })
})

describe('unusable settings', () => {
  it('are reported all at once, each with its setting', () => {
    const keys = [
      { ...signing(rsaKey('small', 1024)), use: 'enc' },
      'text',
      { ...verifying(ec), kid: '' },
      signing(ed),
    ]
    const problems = ringProblems({
      secret: 'short',
      keyId: 'ä',
      keys: JSON.stringify(keys),
      validMethods: ['HS256', 'none'],
    })
    expect(problems.map(({ setting, message }) => `${setting} ${message}`)).toEqual([
      'secret an HS256 secret needs at least 32 bytes (RFC 7518 section 3.2)',
      'keyId kid must be 1 to 255 printable ASCII characters',
      'keys [0] use must be "sig"',
      'keys [1] must be an object',
      'keys [2] kid must be 1 to 255 printable ASCII characters',
      'keys exactly one key must have "sign" in key_ops, not 2',
      'validMethods only HS256, RS256, ES256, EdDSA are known',
    ])
  })

  it('show nothing of a key, neither in messages nor when printed', () => {
    const misplaced = [
      { ...rsa.jwk, kid: rsa.jwk.d, kty: rsa.jwk.p, alg: rsa.jwk.q, use: rsa.jwk.dp },
      rsa.jwk.d,
    ]
    const attempts: Partial<KeySettings>[] = [
      { keys: JSON.stringify(misplaced) },
      { keys: JSON.stringify([rsa.jwk]).slice(0, -40) },
      { keys: rsa.jwk.d },
      { keys: JSON.stringify([{ ...signing(ec), d: ed.jwk.d }]) },
      { keyId: `${SECRET}\n` },
      { validMethods: [SECRET] },
    ]
    const material = [rsa.jwk.d, rsa.jwk.p, rsa.jwk.q, rsa.jwk.dp, ed.jwk.d, SECRET].map(String)
    for (const settings of attempts) {
      const problems = ringProblems(settings)
      expect(problems).not.toEqual([])
      const shown = inspect(new KeySettingsError(problems), { depth: Infinity })
      for (const part of material) expect(shown).not.toContain(part.slice(0, 12))
    }
    const ring = KeyRing.create({ secret: SECRET, keys: JSON.stringify([signing(rsa)]) })
    const shown = inspect(ring, { depth: Infinity, showHidden: true }) + JSON.stringify(ring)
    for (const part of material) expect(shown).not.toContain(part.slice(0, 12))
  })

  it.each(['', 'x'.repeat(31), 'ä'.repeat(15), 'a'.repeat(64), 'abcabcabc'.repeat(8)])(
    'a secret like %j is too weak',
    (secret) => expect(ringProblems({ secret })).toMatchObject([{ setting: 'secret' }]),
  )

  it.each(['nonsense', '{"keys":{}}', '{}', '7', 'null', '"[]"'])(
    'keys that are %s are not a list',
    (keys) => {
      expect(ringProblems({ keys })).toEqual([
        { setting: 'keys', message: 'must be a JSON array of JWKs or {"keys": […]}' },
      ])
    },
  )

  it('none or several keys that sign are refused', () => {
    const expectSigners = (count: number, ...keys: unknown[]) =>
      expect(keyProblems(...keys)).toEqual([`keys exactly one key must have "sign" in key_ops, not ${count}`])
    expectSigners(0)
    expectSigners(0, verifying(rsa))
    expectSigners(0, rsa.jwk)
    expectSigners(2, signing(rsa), signing(ec))
  })

  it('a signing key without its private part is refused; a verifying one needs none', () => {
    expect(keyProblems({ ...rsa.publicJwk, key_ops: ['sign'] })).toEqual([
      'keys the key with "sign" in key_ops cannot sign without its private part',
    ])
    expect(keyProblems(signing(ec), { ...rsa.publicJwk, key_ops: ['verify'] })).toEqual([])
  })

  it('a repeated kid is refused, also that of the secret unless it is the same secret', () => {
    expect(keyProblems(signing(ec), verifying(rsaKey('ec')))).toEqual(['keys [1] has the kid of another key'])
    const listed = (key: object) => JSON.stringify([signing(ec), key])
    expect(ringProblems({ keyId: 'ec', keys: listed(rsa.jwk) })).toEqual([
      { setting: 'keyId', message: 'is also the kid of another key' },
    ])
    const otherSecret = { ...oct, k: Buffer.from(`${SECRET}x`).toString('base64url') }
    expect(ringProblems({ keyId: 'oct', keys: listed(otherSecret) })).toHaveLength(1)
    expect(ringProblems({ keyId: 'oct', keys: listed(oct) })).toEqual([])
  })

  it('are named in one message, in order', () => {
    const problems = ringProblems({ secret: 'short', keyId: 'ä' })
    expect(new KeySettingsError(problems)).toMatchObject({
      name: 'KeySettingsError',
      message:
        'secret: an HS256 secret needs at least 32 bytes (RFC 7518 section 3.2); ' +
        'keyId: kid must be 1 to 255 printable ASCII characters',
    })
  })

  it('methods must be known and include the one that signs', () => {
    const keys = JSON.stringify([signing(rsa)])
    const missing = (alg: string) => [
      { setting: 'validMethods', message: `must include ${alg}, the algorithm of the signing key` },
    ]
    expect(ringProblems({ validMethods: ['ES256'] })).toEqual(missing('HS256'))
    expect(ringProblems({ keys, validMethods: ['HS256'] })).toEqual(missing('RS256'))
    expect(ringProblems({ validMethods: ['HS256'], signingAlgorithm: 'ES256' })).toEqual(missing('ES256'))
    expect(ringProblems({ validMethods: ['ES256'], signingAlgorithm: 'ES256' })).toEqual([])
    expect(ringProblems({ keys, validMethods: ['RS256', 'RS512'] })).toHaveLength(1)
    expect(ringProblems({ keys, validMethods: ['RS256'] })).toEqual([])
  })
})

describe('findKey', () => {
  const keys = JSON.stringify([signing(ec), verifying(rsa)])
  const ring = (settings: Partial<KeySettings> = {}) => KeyRing.create({ secret: SECRET, keys, ...settings })
  const reasonOf = (work: () => unknown) => {
    try {
      work()
    } catch (error) {
      return (error as { reason?: string }).reason
    }
    return 'found'
  }

  it('uses the secret for HS256 without a known name', () => {
    expect(ring().findKey({ alg: 'ES256', kid: 'ec' })).toMatchObject({ alg: 'ES256', kid: 'ec' })
    for (const kid of [undefined, 'main', 'other'])
      expect(ring({ keyId: 'main' }).findKey({ alg: 'HS256', kid })).toMatchObject({ kid: 'main' })
  })

  it('accepts only the algorithms that are set', () => {
    const strict = ring({ validMethods: ['ES256'] })
    expect(reasonOf(() => strict.findKey({ alg: 'ES256', kid: 'ec' }))).toBe('found')
    expect(reasonOf(() => strict.findKey({ alg: 'RS256', kid: 'rsa' }))).toBe('algorithm')
    expect(reasonOf(() => strict.findKey({ alg: 'HS256' }))).toBe('algorithm')
  })

  it('knows the keys that were added, one of which may sign', () => {
    const added = importPrivateJwk(signing(ed))
    const wider = ring().withKeys([added])
    expect(wider.signingKey.kid).toBe('ec')
    expect(wider.findKey({ alg: 'EdDSA', kid: 'ed' })).toBe(added)
    expect(wider.findKey({ alg: 'RS256', kid: 'rsa' }).kid).toBe('rsa')
    expect(wider.publicJwks().keys.map(({ kid }) => kid)).toEqual(['ec', 'rsa', 'ed'])
    expect(ring().withKeys([added], added).signingKey).toBe(added)
    expect(
      reasonOf(() =>
        ring({ validMethods: ['ES256'] })
          .withKeys([added])
          .findKey(added),
      ),
    ).toBe('algorithm')
  })
})

describe('rotation', () => {
  const claims = { sub: 'u1' }
  const ring = (...keys: object[]) => KeyRing.create({ secret: SECRET, keys: JSON.stringify(keys) })
  const reasonOf = (token: string, keys: KeyRing) =>
    verifyJwt(keys, token).then(
      () => undefined,
      (error: unknown) => (error as JwtError).reason,
    )

  it('needs no downtime: the old key verifies until it is dropped', async () => {
    const next = ecKey('next')
    const before = ring(signing(rsa))
    const published = ring(signing(rsa), verifying(next))
    const moved = ring(verifying(rsa), signing(next))
    const publicOnly = ring({ ...rsa.publicJwk, key_ops: ['verify'] }, signing(next))
    const dropped = ring(signing(next))
    const old = await signJwt(before, claims)
    const young = await signJwt(moved, claims)

    for (const stage of [before, published, moved, publicOnly])
      await expect(verifyJwt(stage, old)).resolves.toEqual(claims)
    expect(await reasonOf(old, dropped)).toBe('algorithm')
    expect(await reasonOf(old, ring(signing(rsaKey('other'))))).toBe('unknown_key')
    // A replica that is one step behind already knows the key that its neighbor signs with.
    for (const stage of [published, moved, publicOnly, dropped])
      await expect(verifyJwt(stage, young)).resolves.toEqual(claims)
    expect(published.publicJwks().keys.map(({ kid }) => kid)).toEqual(['rsa', 'next'])
    expect(dropped.publicJwks().keys.map(({ kid }) => kid)).toEqual(['next'])
  })

  it('from the secret to a key pair keeps HS256 tokens valid', async () => {
    const old = await signJwt(KeyRing.create({ secret: SECRET, keyId: 'main' }), claims)
    await expect(verifyJwt(ring(signing(ec)), old)).resolves.toEqual(claims)
  })

  it.each([
    ['RS256', rsa],
    ['ES256', ec],
    ['EdDSA', ed],
  ])('other services verify %s tokens with the key set this server publishes', async (alg, key) => {
    const signs = ring(signing(key))
    const published = JSON.parse(JSON.stringify(signs.publicJwks())) as JSONWebKeySet
    const token = await signJwt(signs, claims)
    const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(published))
    expect(payload).toEqual(claims)
    expect(protectedHeader).toEqual({ alg, typ: 'JWT', kid: key.kid })
    const imported = await importJWK(published.keys[0] ?? {})
    expect(imported).toMatchObject({ type: 'public', usages: ['verify'] })
  })
})
