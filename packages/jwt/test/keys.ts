import { createHmac, generateKeyPairSync, type JsonWebKey, type KeyObject, randomBytes } from 'node:crypto'
import type { JwtAlgorithm } from '../src/index.js'

/** One fresh key of each kind per test file: a private JWK, its public half and the KeyObjects. */
export type TestKey = {
  readonly alg: JwtAlgorithm
  readonly kid: string
  readonly jwk: JsonWebKey
  readonly publicJwk: JsonWebKey
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

export const SECRET = randomBytes(32).toString('hex')

export const hmac = (input: string, secret: string | Buffer = SECRET): Buffer =>
  createHmac('sha256', secret).update(input).digest()

export const rsaKey = (kid = 'rsa', modulusLength = 2048): TestKey =>
  asTestKey('RS256', kid, generateKeyPairSync('rsa', { modulusLength }))

export const ecKey = (kid = 'ec', namedCurve = 'P-256'): TestKey =>
  asTestKey('ES256', kid, generateKeyPairSync('ec', { namedCurve }))

export const edKey = (kid = 'ed'): TestKey => asTestKey('EdDSA', kid, generateKeyPairSync('ed25519'))

function asTestKey(
  alg: JwtAlgorithm,
  kid: string,
  { privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject },
): TestKey {
  const jwk = { ...privateKey.export({ format: 'jwk' }), kid }
  const publicJwk = { ...publicKey.export({ format: 'jwk' }), kid }
  return { alg, kid, jwk, publicJwk, privateKey, publicKey }
}

/** A JWS assembled by hand, so that header and payload can be anything; `sign` gets the signing input. */
export function forge(
  header: unknown,
  payload: unknown,
  sign: (input: string) => Buffer = () => Buffer.from('none'),
): string {
  const input = `${segment(header)}.${segment(payload)}`
  return `${input}.${sign(input).toString('base64url')}`
}

/** Text as it is, anything else as JSON. */
export function segment(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
}

/** Returns the error that a promise rejects with; throws when it fulfills. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('It was accepted')
}
