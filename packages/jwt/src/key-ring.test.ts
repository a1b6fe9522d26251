import { inspect } from 'node:util'
import { describe, expect, it } from '@jest/globals'
import { ecKey, edKey, rsaKey, SECRET, signing, verifying } from '../test/keys.js'
import {
  importJwk,
  type KeyProblem,
  KeyRing,
  type KeyRingSettings,
  KeySettingsError,
  PublicKeySet,
} from './index.js'

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

const ringProblems = (settings: Partial<KeyRingSettings>) =>
  problemsOf(() => KeyRing.create({ secret: SECRET, ...settings }))
const keyProblems = (...keys: unknown[]) =>
  ringProblems({ keys: JSON.stringify(keys) }).map(({ setting, message }) => `${setting} ${message}`)
/** Problems of a key that is not the signer. */
const problemsOfKey = (key: unknown) =>
  keyProblems(signing(ec), key).map((text) => text.replace('keys [1] ', ''))

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
    const attempts: Partial<KeyRingSettings>[] = [
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

  it.each(['nonsense', '{"keys":{}}', '{}', '7', 'null', '"[]"'])('keys that are %s are no list', (keys) => {
    expect(ringProblems({ keys })).toEqual([
      { setting: 'keys', message: 'must be a JSON array of JWKs or {"keys": […]}' },
    ])
  })

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
    expect(problemsOfKey({ ...rsa.publicJwk, key_ops: ['verify'] })).toEqual([])
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

  it.each([
    [
      'a kid that is missing',
      { ...rsa.jwk, kid: undefined },
      'kid must be 1 to 255 printable ASCII characters',
    ],
    ['a kid that is no text', { ...rsa.jwk, kid: 7 }, 'kid must be 1 to 255 printable ASCII characters'],
    ['a long kid', { ...rsa.jwk, kid: 'k'.repeat(256) }, 'kid must be 1 to 255 printable ASCII characters'],
    ['an unknown kty', { ...rsa.jwk, kty: 'rsa' }, 'kty must be RSA, EC, OKP or oct'],
    ['a kty from the prototype', { ...rsa.jwk, kty: 'constructor' }, 'kty must be RSA, EC, OKP or oct'],
    ['an RSA key for PS256', { ...rsa.jwk, alg: 'PS256' }, 'alg must be RS256 for this kty'],
    ['an RSA key for HS256', { ...rsa.jwk, alg: 'HS256' }, 'alg must be RS256 for this kty'],
    ['an Ed25519 key for ES256', { ...ed.jwk, alg: 'ES256' }, 'alg must be EdDSA for this kty'],
    ['an encryption key', { ...rsa.jwk, use: 'enc' }, 'use must be "sig"'],
    ['other operations', { ...rsa.jwk, key_ops: ['decrypt'] }, 'key_ops must list "verify", "sign" or both'],
    [
      'operations that are no list',
      { ...rsa.jwk, key_ops: 'sign' },
      'key_ops must list "verify", "sign" or both',
    ],
    ['no operations', { ...rsa.jwk, key_ops: [] }, 'key_ops must list "verify", "sign" or both'],
    ['a curve other than P-256', ecKey('p384', 'P-384').jwk, 'crv must be P-256 for this kty'],
    ['a key-agreement curve', { ...ed.jwk, crv: 'X25519' }, 'crv must be Ed25519 for this kty'],
    ['a missing member', { ...rsa.jwk, n: undefined }, 'the public part is not a valid key'],
    ['an oct key in another encoding', { ...oct, k: `${oct.k}+/==` }, 'must have k in base64url'],
    ['a small RSA key', rsaKey('small', 2040).jwk, 'an RSA key needs at least 2048 bits'],
    ['an RSA exponent of 1', { ...rsa.publicJwk, e: 'AQ' }, 'the RSA exponent must be odd and at least 3'],
    ['a point off the curve', { ...ec.publicJwk, y: ec.publicJwk.x }, 'the public part is not a valid key'],
    ['a short Ed25519 key', { ...ed.publicJwk, x: 'AAAA' }, 'the public part is not a valid key'],
    [
      'a short oct key',
      { ...oct, k: 'AAAA' },
      'an HS256 secret needs at least 32 bytes (RFC 7518 section 3.2)',
    ],
    [
      'a private part of another RSA key',
      { ...rsaKey().jwk, n: rsa.jwk.n },
      'the private part is not a valid key, or belongs to another public part',
    ],
    [
      'a private part of another EC key',
      { ...ec.jwk, d: ecKey().jwk.d },
      'the private part is not a valid key, or belongs to another public part',
    ],
    [
      'a private part of another Ed25519 key',
      { ...ed.jwk, d: edKey().jwk.d },
      'the private part is not a valid key, or belongs to another public part',
    ],
    [
      'a private part that is no text',
      { ...rsa.jwk, d: 7 },
      'the private part is not a valid key, or belongs to another public part',
    ],
  ])('%s is refused', (_, jwk, problem) => {
    expect(problemsOfKey({ ...jwk, ...('kid' in jwk && jwk.kid === 'ec' ? { kid: 'ec2' } : {}) })).toEqual([
      problem,
    ])
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

  it('begin just beyond the limits', () => {
    const distinct = (count: number) => Buffer.from(Array.from({ length: 32 }, (_, i) => 65 + (i % count)))
    expect(ringProblems({ secret: distinct(8).toString() })).toEqual([])
    expect(ringProblems({ secret: distinct(7).toString() })).toEqual([
      {
        setting: 'secret',
        message: 'an HS256 secret must not repeat a few characters; use a random value',
      },
    ])
    for (const kid of ['k', ' ~', 'k'.repeat(255)]) expect(problemsOfKey({ ...rsa.jwk, kid })).toEqual([])
    for (const kid of ['', 'ä', 'a\n', 'ab\u007f', '\u001fab', 'k'.repeat(256)])
      expect(problemsOfKey({ ...rsa.jwk, kid })).toEqual(['kid must be 1 to 255 printable ASCII characters'])
    for (const operations of [['sign'], ['verify', 'sign'], ['verify', 'verify']])
      expect(keyProblems({ ...rsa.jwk, key_ops: operations }, signing(ec)).join()).not.toContain(
        'key_ops must list',
      )
    const exponent = 'the RSA exponent must be odd and at least 3'
    expect(problemsOfKey({ ...rsa.publicJwk, e: 'Aw' })).toEqual([])
    expect(problemsOfKey({ ...rsa.publicJwk, e: 'BA' })).toEqual([exponent])
  })

  it.each([[null], [7], [[]], ['text']])('a key %j is no object', (key) => {
    expect(problemsOfKey(key)).toEqual(['must be an object'])
  })

  it.each([[7], [undefined], ['a b'], [`${oct.k}=`], [` ${oct.k}`], ['']])(
    'an oct key of %j is none',
    (k) => {
      expect(problemsOfKey({ ...oct, k })).toEqual(['must have k in base64url'])
    },
  )

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
  const ring = (settings: Partial<KeyRingSettings> = {}) =>
    KeyRing.create({ secret: SECRET, keys, ...settings })
  const reasonOf = (work: () => unknown) => {
    try {
      work()
    } catch (error) {
      return (error as { reason?: string }).reason
    }
    return 'found'
  }

  it('gives the key of the name for its own algorithm, and the secret for HS256 without a known name', () => {
    expect(ring().findKey({ alg: 'ES256', kid: 'ec' })).toMatchObject({ alg: 'ES256', kid: 'ec' })
    expect(ring().findKey({ alg: 'RS256', kid: 'rsa' })).toMatchObject({ alg: 'RS256', kid: 'rsa' })
    expect(ring({ keyId: 'main' }).findKey({ alg: 'HS256' })).toMatchObject({ alg: 'HS256', kid: 'main' })
    expect(ring({ keyId: 'main' }).findKey({ alg: 'HS256', kid: 'other' })).toMatchObject({ kid: 'main' })
    expect(reasonOf(() => ring().findKey({ alg: 'RS256', kid: 'ec' }))).toBe('algorithm')
    expect(reasonOf(() => ring().findKey({ alg: 'HS256', kid: 'ec' }))).toBe('algorithm')
    expect(reasonOf(() => ring().findKey({ alg: 'RS256' }))).toBe('unknown_key')
    expect(reasonOf(() => ring().findKey({ alg: 'RS256', kid: 'other' }))).toBe('unknown_key')
    expect(reasonOf(() => ring().findKey({ alg: 'EdDSA', kid: 'ec' }))).toBe('algorithm')
  })

  it('accepts only the algorithms that are set', () => {
    const strict = ring({ validMethods: ['ES256'] })
    expect(reasonOf(() => strict.findKey({ alg: 'ES256', kid: 'ec' }))).toBe('found')
    expect(reasonOf(() => strict.findKey({ alg: 'RS256', kid: 'rsa' }))).toBe('algorithm')
    expect(reasonOf(() => strict.findKey({ alg: 'HS256' }))).toBe('algorithm')
  })

  it('knows the keys that were added, one of which may sign', () => {
    const [added] = [importJwk(signing(ed))]
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

describe('configured public keys', () => {
  const problems = (...keys: unknown[]) =>
    problemsOf(() => PublicKeySet.fromSettings(JSON.stringify(keys))).map(({ message }) => message)

  it('may be a list or a JWK Set and need no key_ops', () => {
    for (const value of [[rsa.publicJwk, ed.publicJwk], { keys: [rsa.publicJwk, ed.publicJwk] }]) {
      const keys = PublicKeySet.fromSettings(JSON.stringify(value))
      expect(keys.findKey({ alg: 'RS256', kid: 'rsa' }).alg).toBe('RS256')
      expect(keys.has('ed')).toBe(true)
      expect(keys.has('other')).toBe(false)
      expect(() => keys.findKey({ alg: 'RS256', kid: 'other' })).toThrow('no known key')
    }
  })

  it('with a private part, a symmetric key, a weak key, a repeated kid or none at all are refused', () => {
    for (const key of [rsa.jwk, oct])
      expect(problems(key)).toEqual(['must be public keys: none symmetric or with a private part'])
    expect(problems(rsaKey('small', 1024).publicJwk, rsa.publicJwk, { ...ed.publicJwk, kid: 'rsa' })).toEqual(
      ['[0] an RSA key needs at least 2048 bits', '[2] has the kid of another key'],
    )
    expect(problems()).toEqual(['must list at least one key'])
    expect(problemsOf(() => PublicKeySet.fromSettings('-----BEGIN PUBLIC KEY-----'))).toHaveLength(1)
  })
})
