import { TOTP } from 'otpauth'
import { expect } from '@jest/globals'
import { decodeJwt } from 'jose'
import { call, get, PASSWORD, post, type ApiAnswer, type Json, type Session, type SignedUp } from './api.js'
import type { TestServer } from './server.js'

export type Enrolled = { id: string; totp: { secret: string; uri: string; qr_code: string } } & Json
type Bearer = { access_token: string }

/** Settings that allow many attempts at second factors, and send the notices about them. */
export const FACTOR_ENVIRONMENT = {
  AUTH_MAILER_AUTOCONFIRM: 'true',
  AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  AUTH_SECURITY_FORWARDED_FOR_ENABLED: 'true',
  AUTH_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: '100000',
  AUTH_MAILER_NOTIFICATIONS_MFA_FACTOR_ENROLLED_ENABLED: 'true',
  AUTH_MAILER_NOTIFICATIONS_MFA_FACTOR_UNENROLLED_ENABLED: 'true',
  AUTH_MFA_MAX_ENROLLED_FACTORS: '5',
  AUTH_MFA_MAX_VERIFIED_FACTORS: '3',
}

/** What users do with their factors, on the server that a test file starts. */
export function factorSteps(serverOf: () => TestServer) {
  async function enroll(user: Bearer, body: Json = {}): Promise<Enrolled> {
    const options = { token: user.access_token }
    const answer = await post(serverOf(), '/factors', { factor_type: 'totp', ...body }, options)
    expect(answer.status).toBe(200)
    return answer.body as Enrolled
  }

  async function challenge(user: Bearer, factorId: string): Promise<string> {
    const options = { token: user.access_token }
    const answer = await post(serverOf(), `/factors/${factorId}/challenge`, {}, options)
    expect(answer.status).toBe(200)
    return answer.body['id'] as string
  }

  const codeOf = ({ totp }: Enrolled) =>
    new TOTP({ secret: totp.secret }).generate({ timestamp: serverOf().clock.now().getTime() })

  const verify = (user: Bearer, factorId: string, body: Json, headers = {}): Promise<ApiAnswer> =>
    post(serverOf(), `/factors/${factorId}/verify`, body, { token: user.access_token, headers })

  /** Answers a new challenge with the right code; the clock moves on, because a code works once. */
  async function raise(user: Bearer, factor: Enrolled): Promise<Session> {
    serverOf().clock.advance(1000)
    const challengeId = await challenge(user, factor.id)
    const answer = await verify(user, factor.id, { challenge_id: challengeId, code: codeOf(factor) })
    expect(answer.status).toBe(200)
    serverOf().clock.advance(30_000)
    return answer.body as Session
  }

  async function signIn({ email }: SignedUp): Promise<Session> {
    const answer = await post(serverOf(), '/token?grant_type=password', { email, password: PASSWORD })
    expect(answer.status).toBe(200)
    return answer.body as Session
  }

  const refresh = (token: string) =>
    post(serverOf(), '/token?grant_type=refresh_token', { refresh_token: token })
  const unenroll = (user: Bearer, id: string) =>
    call(serverOf(), 'DELETE', `/factors/${id}`, { token: user.access_token })
  const factorsOf = async (user: Bearer) =>
    ((await get(serverOf(), '/user', { token: user.access_token })).body['factors'] ?? []) as Json[]

  return { enroll, challenge, codeOf, verify, raise, signIn, refresh, unenroll, factorsOf }
}

export const methodsOf = (jwt: string) =>
  (decodeJwt(jwt)['amr'] as { method: string }[]).map(({ method }) => method)
