import { randomBytes } from 'node:crypto'
import { startDouble, type Answer, type DoubleServer } from './double-http.js'

export type IdentityDouble = DoubleServer & {
  /** The issued user JWTs of sessions that are fully signed in. */
  jwts: Set<string>
  /** Set to ask for a second factor with this code. */
  code: { expected: string | undefined; type: 'totp' | 'phone' | 'webauthn' }
}

export const EMAIL = 'ana@example.com'
export const PASSWORD = 'correct horse battery staple'

const FACTOR = '5d2b4a1e-0000-4000-8000-000000000001'
const CHALLENGE = '5d2b4a1e-0000-4000-8000-000000000002'

/** Stands in for the identity service: one account, with a second factor when a test sets `code`. */
export async function startIdentityDouble(): Promise<IdentityDouble> {
  const jwts = new Set<string>()
  const half = new Set<string>()
  const code: IdentityDouble['code'] = { expected: undefined, type: 'totp' }

  const session = (): Answer => {
    const isHalf = code.expected !== undefined
    const jwt = `header.${randomBytes(8).toString('hex')}.signature`
    ;(isHalf ? half : jwts).add(jwt)
    const factors = isHalf ? [{ id: FACTOR, factor_type: code.type, status: 'verified' }] : undefined
    return { body: { access_token: jwt, token_type: 'bearer', user: { email: EMAIL, factors } } }
  }

  const server = await startDouble(({ path, url, headers, body }) => {
    if (path === '/token' && url.searchParams.get('grant_type') === 'password') {
      const { email, password } = JSON.parse(body) as { email: string; password: string }
      return email === EMAIL && password === PASSWORD
        ? session()
        : refusal(400, 'invalid_credentials', 'Invalid login credentials')
    }
    const jwt = (headers.authorization ?? '').replace(/^Bearer /, '')
    if (!half.has(jwt)) return refusal(403, 'bad_jwt', 'invalid JWT')
    if (path === `/factors/${FACTOR}/challenge`)
      return { body: { id: CHALLENGE, type: code.type, expires_at: 0 } }
    if (path === `/factors/${FACTOR}/verify`) {
      const answer = JSON.parse(body) as { challenge_id: string; code: string }
      if (answer.challenge_id !== CHALLENGE || answer.code !== code.expected) {
        return refusal(422, 'mfa_verification_failed', 'Invalid TOTP code entered')
      }
      jwts.add(jwt)
      return { body: { access_token: jwt, token_type: 'bearer', user: { email: EMAIL } } }
    }
    return refusal(404, 'not_found', 'Not found')
  })
  return Object.assign(server, { jwts, code })
}

const refusal = (status: number, code: string, message: string): Answer => ({
  status,
  body: { code, message },
})
