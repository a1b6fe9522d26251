import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  generateKeyPairSync,
  sign,
  timingSafeEqual,
  verify,
} from 'node:crypto'
import { signJwt, verifyJwt } from '@signet/jwt'
import { atLeast, inTurns, median, option, reporter } from '@signet/testkit/bench'
import { KeyRing } from '../src/keys/key-ring.js'
import { JWT_SECRET } from './servers.js'

const ALGORITHMS = ['HS256', 'RS256', 'ES256', 'EdDSA'] as const
type Algorithm = (typeof ALGORITHMS)[number]
const GOAL = 0.4
const SECONDS = Number(option('seconds') ?? 0.5)
const report = reporter('auth', { failsOnMiss: true })

const CLAIMS = {
  iss: 'https://auth.example.com',
  sub: '00000001-0000-4000-8000-000000000001',
  aud: 'authenticated',
  exp: 4_000_000_000,
  iat: 1_900_000_000,
  email: 'user1@example.com',
  app_metadata: { provider: 'email', providers: ['email'] },
  user_metadata: { email_verified: true },
  role: 'authenticated',
  aal: 'aal1',
  amr: [{ method: 'password', timestamp: 1_900_000_000 }],
  session_id: '00000002-0000-4000-8000-000000000001',
}

/** Signing and verifying an access token against the same bytes through `node:crypto` alone. */
export async function benchSigning(): Promise<void> {
  for (const alg of ALGORITHMS) {
    const { ring, rawSign, rawVerify } = material(alg)
    const token = await signJwt(ring, CLAIMS)
    await compareSpeed(`sign ${alg}`, async () => void (await signJwt(ring, CLAIMS)), rawSign)
    await compareSpeed(
      `verify ${alg}`,
      async () => void (await verifyJwt(ring, token)),
      () => rawVerify(token),
    )
  }
}

async function compareSpeed(name: string, ours: () => void | Promise<void>, raw: () => void): Promise<void> {
  const seen = await inTurns([() => perSecond(ours), () => perSecond(raw)])
  const [value = NaN, theirs = NaN] = seen.map(median)
  report({ case: name, value, unit: 'operations/s', ...atLeast(value / theirs, GOAL) })
}

async function perSecond(work: () => void | Promise<void>): Promise<number> {
  const startedAt = performance.now()
  let count = 0
  while (performance.now() - startedAt < SECONDS * 1000) {
    for (let batch = 0; batch < 20; batch += 1) await work()
    count += 20
  }
  return count / ((performance.now() - startedAt) / 1000)
}

function material(alg: Algorithm) {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signingInput = () => `${encode({ alg, typ: 'JWT', kid: 'bench' })}.${encode(CLAIMS)}`
  const split = (token: string) => {
    const at = token.lastIndexOf('.')
    JSON.parse(Buffer.from(token.slice(token.indexOf('.') + 1, at), 'base64url').toString())
    return [token.slice(0, at), Buffer.from(token.slice(at + 1), 'base64url')] as const
  }
  if (alg === 'HS256') {
    const key = createSecretKey(Buffer.from(JWT_SECRET))
    const mac = (text: string) => createHmac('sha256', key).update(text)
    return {
      ring: KeyRing.create({ secret: JWT_SECRET, keyId: 'bench' }),
      rawSign: () => {
        const text = signingInput()
        void `${text}.${mac(text).digest('base64url')}`
      },
      rawVerify: (token: string) => {
        const [text, signature] = split(token)
        if (!timingSafeEqual(mac(text).digest(), signature)) throw new Error('wrong')
      },
    }
  }
  const jwk = generated(alg).export({ format: 'jwk' })
  const privateKey = createPrivateKey({ key: jwk, format: 'jwk' })
  const publicKey = createPublicKey({ key: jwk, format: 'jwk' })
  const digest = alg === 'EdDSA' ? null : 'sha256'
  const options = alg === 'ES256' ? ({ dsaEncoding: 'ieee-p1363' } as const) : {}
  return {
    ring: KeyRing.create({
      secret: JWT_SECRET,
      keys: keysOf(jwk),
    }),
    rawSign: () => {
      const text = signingInput()
      void `${text}.${sign(digest, Buffer.from(text), { key: privateKey, ...options }).toString('base64url')}`
    },
    rawVerify: (token: string) => {
      const [text, signature] = split(token)
      if (!verify(digest, Buffer.from(text), { key: publicKey, ...options }, signature))
        throw new Error('wrong')
    },
  }
}

const keysOf = (jwk: object): string =>
  JSON.stringify([{ ...jwk, kid: 'bench', key_ops: ['sign', 'verify'] }])

/** A value of AUTH_JWT_KEYS with a new key. */
export const newKeys = (alg: Exclude<Algorithm, 'HS256'>): string =>
  keysOf(generated(alg).export({ format: 'jwk' }))

function generated(alg: Exclude<Algorithm, 'HS256'>) {
  if (alg === 'RS256') return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  if (alg === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  return generateKeyPairSync('ed25519').privateKey
}
