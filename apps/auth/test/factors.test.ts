import { randomUUID } from 'node:crypto'
import { TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import {
  anEmail,
  aUser,
  call,
  expectError,
  get,
  PASSWORD,
  post,
  put,
  type ApiAnswer,
  type Json,
  type Session,
  type SignedUp,
} from './support/api.js'
import { startServer, type TestServer } from './support/server.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer({
    AUTH_MAILER_AUTOCONFIRM: 'true',
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    AUTH_SECURITY_FORWARDED_FOR_ENABLED: 'true',
    AUTH_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: '100000',
    AUTH_MAILER_NOTIFICATIONS_MFA_FACTOR_ENROLLED_ENABLED: 'true',
    AUTH_MAILER_NOTIFICATIONS_MFA_FACTOR_UNENROLLED_ENABLED: 'true',
    AUTH_MFA_MAX_ENROLLED_FACTORS: '5',
    AUTH_MFA_MAX_VERIFIED_FACTORS: '3',
  })
})
afterAll(() => server.close())

type Enrolled = { id: string; totp: { secret: string; uri: string; qr_code: string } } & Json
type Bearer = { access_token: string }

async function enroll(user: Bearer, body: Json = {}): Promise<Enrolled> {
  const answer = await post(
    server,
    '/factors',
    { factor_type: 'totp', ...body },
    { token: user.access_token },
  )
  expect(answer.status).toBe(200)
  return answer.body as Enrolled
}

async function challenge(user: Bearer, factorId: string): Promise<string> {
  const answer = await post(server, `/factors/${factorId}/challenge`, {}, { token: user.access_token })
  expect(answer.status).toBe(200)
  return answer.body['id'] as string
}

const codeOf = ({ totp }: Enrolled) =>
  new TOTP({ secret: totp.secret }).generate({ timestamp: server.clock.now().getTime() })

const verify = (user: Bearer, factorId: string, body: Json, headers = {}): Promise<ApiAnswer> =>
  post(server, `/factors/${factorId}/verify`, body, { token: user.access_token, headers })

/** Answers a new challenge with the right code; the clock moves on, because a code works once. */
async function raise(user: Bearer, factor: Enrolled): Promise<Session> {
  server.clock.advance(1000)
  const challengeId = await challenge(user, factor.id)
  const answer = await verify(user, factor.id, { challenge_id: challengeId, code: codeOf(factor) })
  expect(answer.status).toBe(200)
  server.clock.advance(30_000)
  return answer.body as Session
}

async function signIn({ email }: SignedUp): Promise<Session> {
  const answer = await post(server, '/token?grant_type=password', { email, password: PASSWORD })
  expect(answer.status).toBe(200)
  return answer.body as Session
}

const refresh = (token: string) => post(server, '/token?grant_type=refresh_token', { refresh_token: token })
const unenroll = (user: Bearer, id: string) =>
  call(server, 'DELETE', `/factors/${id}`, { token: user.access_token })
const factorsOf = async (user: Bearer) =>
  ((await get(server, '/user', { token: user.access_token })).body['factors'] ?? []) as Json[]
const methodsOf = (jwt: string) => (decodeJwt(jwt)['amr'] as { method: string }[]).map(({ method }) => method)

describe('POST /factors, totp (1.20)', () => {
  it('answers secret, address and a QR code that clients can embed', async () => {
    const user = await aUser(server)
    const answer = await post(
      server,
      '/factors',
      { factor_type: 'totp', friendly_name: 'my phone', issuer: 'Example App' },
      { token: user.access_token },
    )
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const { id, totp, ...rest } = answer.body as Enrolled
    expect(rest).toEqual({ type: 'totp', friendly_name: 'my phone' })
    expect(totp.secret).toMatch(/^[A-Z2-7]{32}$/)
    expect(totp.uri).toBe(
      `otpauth://totp/Example%20App:${encodeURIComponent(user.email)}?algorithm=SHA1&digits=6&issuer=Example%20App&period=30&secret=${totp.secret}`,
    )
    expect(totp.qr_code).toMatch(/^<svg [^#]*<\/svg>$/)
    expect(await factorsOf(user)).toEqual([
      expect.objectContaining({
        id,
        factor_type: 'totp',
        status: 'unverified',
        phone: '',
        last_challenged_at: null,
      }),
    ])
  })

  it('names the site as issuer unless the request does', async () => {
    const { totp } = await enroll(await aUser(server))
    expect(new URL(totp.uri).searchParams.get('issuer')).toBe('app.example.com')
  })

  it('stores the secret encrypted and shows it nowhere again', async () => {
    const user = await aUser(server)
    const { id, totp } = await enroll(user)
    const { rows } = await server.context.db.query<{ secret: string }>(
      'select secret from mfa_factors where id = $1',
      [id],
    )
    expect(rows[0]?.secret).not.toContain(totp.secret)
    const shown = await get(server, '/user', { token: user.access_token })
    expect(shown.text).not.toContain(totp.secret)
    expect(shown.text).not.toContain(rows[0]?.secret)
    expect(JSON.stringify(server.lines)).not.toContain(totp.secret)
  })

  it.each<[string, Json, number, string]>([
    ['an unknown type', { factor_type: 'pigeon' }, 400, 'validation_failed'],
    ['no type', {}, 400, 'validation_failed'],
    ['a security key', { factor_type: 'webauthn' }, 422, 'mfa_webauthn_enroll_not_enabled'],
    [
      'a phone while that is off',
      { factor_type: 'phone', phone: '4915112345678' },
      422,
      'mfa_phone_enroll_not_enabled',
    ],
    ['a long name', { factor_type: 'totp', friendly_name: 'x'.repeat(256) }, 400, 'validation_failed'],
    ['a name that is no text', { factor_type: 'totp', friendly_name: 1 }, 400, 'bad_json'],
  ])('refuses %s', async (_name, body, status, code) => {
    const { access_token } = await aUser(server)
    expectError(await post(server, '/factors', body, { token: access_token }), status, code)
  })

  it('refuses anonymous users, and tokens whose session ended', async () => {
    const anonymous = (await post(server, '/signup', {})).body as Session
    const body = { factor_type: 'totp' }
    expectError(
      await post(server, '/factors', body, { token: anonymous.access_token }),
      403,
      'no_authorization',
    )
    expectError(await post(server, '/factors', body), 401, 'no_authorization')
    const user = await aUser(server)
    await post(server, '/logout', undefined, { token: user.access_token })
    expectError(await post(server, '/factors', body, { token: user.access_token }), 403, 'session_not_found')
  })

  it('refuses a name twice for one user; two factors without a name clash too', async () => {
    const user = await aUser(server)
    const again = (body: Json) =>
      post(server, '/factors', { factor_type: 'totp', ...body }, { token: user.access_token })
    await enroll(user, { friendly_name: 'one' })
    expectError(await again({ friendly_name: 'one' }), 422, 'mfa_factor_name_conflict')
    await enroll(user)
    expectError(await again({}), 422, 'mfa_factor_name_conflict')
    await enroll(await aUser(server), { friendly_name: 'one' })
  })

  it('gives one name to exactly one of many simultaneous enrollments', async () => {
    const user = await aUser(server)
    const attempts = Array.from({ length: 8 })
    const options = { token: user.access_token }
    // Opens the connections, so that the requests really meet.
    await Promise.all(attempts.map(() => server.context.db.query('select pg_sleep(0.05)')))
    const answers = await Promise.all(
      attempts.map(() => post(server, '/factors', { factor_type: 'totp' }, options)),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(await factorsOf(user)).toHaveLength(1)
  })

  it('limits how many there are, not counting those begun more than 300 s ago and never challenged', async () => {
    const user = await aUser(server)
    const names = ['1', '2', '3', '4', '5']
    const factors = await Promise.all(names.map((name) => enroll(user, { friendly_name: name })))
    const more = () =>
      post(server, '/factors', { factor_type: 'totp', friendly_name: 'more' }, { token: user.access_token })
    expectError(await more(), 422, 'too_many_enrolled_mfa_factors')
    await challenge(user, factors[0]?.id ?? '')
    server.clock.advance(300_001)
    expect((await more()).status).toBe(200)
    expect((await factorsOf(user)).map(({ friendly_name: name }) => name).sort()).toEqual(['1', 'more'])
  })

  it('limits how many are verified', async () => {
    const user = await aUser(server)
    let session: Bearer = user
    for (const name of ['1', '2', '3'])
      session = await raise(session, await enroll(session, { friendly_name: name }))
    expectError(
      await post(
        server,
        '/factors',
        { factor_type: 'totp', friendly_name: '4' },
        { token: session.access_token },
      ),
      422,
      'too_many_enrolled_mfa_factors',
    )
  })

  it('wants the verified factor first when there is one', async () => {
    const user = await aUser(server)
    await raise(user, await enroll(user))
    const weak = await signIn(user)
    expectError(
      await post(
        server,
        '/factors',
        { factor_type: 'totp', friendly_name: 'x' },
        { token: weak.access_token },
      ),
      403,
      'insufficient_aal',
    )
  })
})

describe('challenge and verify, totp (1.20)', () => {
  it('raises the session to aal2, with a new refresh token and the amr entry', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const asked = await post(server, `/factors/${factor.id}/challenge`, undefined, {
      token: user.access_token,
    })
    expect(asked.body).toEqual({
      id: expect.any(String) as unknown,
      type: 'totp',
      expires_at: Math.floor(server.clock.now().getTime() / 1000) + 300,
    })
    expect(decodeJwt(user.access_token)).toMatchObject({ aal: 'aal1' })
    server.clock.advance(1000)
    const answer = await verify(user, factor.id, { challenge_id: asked.body['id'], code: codeOf(factor) })
    expect(answer.status).toBe(200)
    const session = answer.body as Session
    expect(decodeJwt(session.access_token)).toMatchObject({
      aal: 'aal2',
      session_id: decodeJwt(user.access_token)['session_id'],
    })
    expect(methodsOf(session.access_token)).toEqual(['totp', 'password'])
    expect(session.refresh_token).not.toBe(user.refresh_token)
    expect(session.user['factors']).toEqual([expect.objectContaining({ id: factor.id, status: 'verified' })])
  })

  it('keeps aal2 over refreshes; a new password sign-in is aal1', async () => {
    const user = await aUser(server)
    const raised = await raise(user, await enroll(user))
    const refreshed = await refresh(raised.refresh_token)
    expect(decodeJwt(refreshed.body['access_token'] as string)).toMatchObject({ aal: 'aal2' })
    expect(methodsOf(refreshed.body['access_token'] as string)).toEqual(['totp', 'password'])
    expect(decodeJwt((await signIn(user)).access_token)).toMatchObject({ aal: 'aal1' })
  })

  it('never yields aal2 for the refresh token of before (14.1)', async () => {
    const user = await aUser(server)
    await raise(user, await enroll(user))
    expectError(await refresh(user.refresh_token), 400, 'refresh_token_already_used')
  })

  it('never yields aal2 to a refresh that runs at the same time', async () => {
    for (let round = 0; round < 5; round++) {
      const user = await aUser(server)
      const factor = await enroll(user)
      const challengeId = await challenge(user, factor.id)
      const [, refreshed] = await Promise.all([
        verify(user, factor.id, { challenge_id: challengeId, code: codeOf(factor) }),
        refresh(user.refresh_token),
      ])
      if (refreshed.status !== 200) continue
      expect(decodeJwt(refreshed.body['access_token'] as string)).toMatchObject({ aal: 'aal1' })
      const next = await refresh(refreshed.body['refresh_token'] as string)
      expect(next.status === 200 && decodeJwt(next.body['access_token'] as string)['aal']).not.toBe('aal2')
    }
  })

  it('ends every other session of the user below aal2', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const other = await signIn(user)
    const strong = await raise(user, factor)
    expectError(await get(server, '/user', { token: other.access_token }), 403, 'session_not_found')
    const second = await raise(await signIn(user), factor)
    for (const { access_token: token } of [strong, second])
      expect((await get(server, '/user', { token })).status).toBe(200)
  })

  it('drops other factors of the type that were only begun', async () => {
    const user = await aUser(server)
    const begun = await enroll(user, { friendly_name: 'begun' })
    const factor = await enroll(user, { friendly_name: 'used' })
    const session = await raise(user, factor)
    expect((await factorsOf(session)).map(({ id }) => id)).toEqual([factor.id])
    expectError(await unenroll(session, begun.id), 404, 'mfa_factor_not_found')
  })

  it('answers a wrong code with the text that clients look for', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const challengeId = await challenge(user, factor.id)
    const wrong = await verify(user, factor.id, { challenge_id: challengeId, code: '000000' })
    expectError(wrong, 422, 'mfa_verification_failed', /^Invalid TOTP code/)
    expectError(
      await verify(user, factor.id, { challenge_id: challengeId, code: '' }),
      400,
      'validation_failed',
    )
    const right = await verify(user, factor.id, { challenge_id: challengeId, code: codeOf(factor) })
    expect(right.status).toBe(200)
  })

  it('takes only so many wrong codes, over all challenges, until they are old', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    for (const _challenge of [1, 2]) {
      const challengeId = await challenge(user, factor.id)
      for (let guess = 0; guess < 5; guess++)
        expectError(
          await verify(user, factor.id, { challenge_id: challengeId, code: '000000' }),
          422,
          'mfa_verification_failed',
        )
    }
    const fresh = await challenge(user, factor.id)
    const refused = await verify(user, factor.id, { challenge_id: fresh, code: codeOf(factor) })
    expectError(refused, 429, 'over_request_rate_limit')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    server.clock.advance(300_000)
    await raise(user, factor)
  })

  it('refuses a challenge that was used, and the time step of an accepted code in a new one', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const code = codeOf(factor)
    const used = await challenge(user, factor.id)
    const session = (await verify(user, factor.id, { challenge_id: used, code })).body as Session
    expectError(
      await verify(session, factor.id, { challenge_id: used, code }),
      422,
      'mfa_ip_address_mismatch',
    )
    const fresh = await challenge(session, factor.id)
    expectError(
      await verify(session, factor.id, { challenge_id: fresh, code }),
      422,
      'mfa_verification_failed',
    )
    server.clock.advance(30_000)
    expect((await verify(session, factor.id, { challenge_id: fresh, code: codeOf(factor) })).status).toBe(200)
  })

  it.each(['one challenge', 'several challenges'])(
    'takes one code once, of many at a time against %s',
    async (kind) => {
      const user = await aUser(server)
      const factor = await enroll(user)
      const first = await challenge(user, factor.id)
      const challenges = [first]
      while (challenges.length < 5)
        challenges.push(kind === 'one challenge' ? first : await challenge(user, factor.id))
      const code = codeOf(factor)
      const answers = await Promise.all(
        challenges.map((id) => verify(user, factor.id, { challenge_id: id, code })),
      )
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    },
  )

  it('wants the answer from the address that asked', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const from = (ip: string) => ({ 'X-Forwarded-For': ip })
    const asked = await post(
      server,
      `/factors/${factor.id}/challenge`,
      {},
      { token: user.access_token, headers: from('198.51.100.1') },
    )
    const body = { challenge_id: asked.body['id'], code: codeOf(factor) }
    expectError(await verify(user, factor.id, body, from('198.51.100.2')), 422, 'mfa_ip_address_mismatch')
    expect((await verify(user, factor.id, body, from('198.51.100.1'))).status).toBe(200)
  })

  it('gives a challenge 300 s', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const early = await challenge(user, factor.id)
    server.clock.advance(299_999)
    const late = await challenge(user, factor.id)
    server.clock.advance(1)
    expectError(
      await verify(user, factor.id, { challenge_id: early, code: codeOf(factor) }),
      422,
      'mfa_challenge_expired',
    )
    expect((await verify(user, factor.id, { challenge_id: late, code: codeOf(factor) })).status).toBe(200)
  })

  it('knows neither factors nor challenges of others', async () => {
    const [user, other] = [await aUser(server), await aUser(server)]
    const [factor, foreign] = [await enroll(user), await enroll(other)]
    const foreignChallenge = await challenge(other, foreign.id)
    const code = codeOf(factor)
    const path = (id: string) => `/factors/${id}/challenge`
    const options = { token: user.access_token }
    expectError(await post(server, path(foreign.id), {}, options), 404, 'mfa_factor_not_found')
    expectError(await post(server, path(randomUUID()), {}, options), 404, 'mfa_factor_not_found')
    expectError(await post(server, path('not-a-uuid'), {}, options), 404, 'validation_failed')
    expectError(
      await verify(user, foreign.id, { challenge_id: foreignChallenge, code }),
      404,
      'mfa_factor_not_found',
    )
    for (const challengeId of [foreignChallenge, randomUUID(), 'not-a-uuid', ''])
      expectError(
        await verify(user, factor.id, { challenge_id: challengeId, code }),
        422,
        'mfa_factor_not_found',
      )
    expectError(await unenroll(user, foreign.id), 404, 'mfa_factor_not_found')
    expectError(await unenroll(user, 'not-a-uuid'), 404, 'validation_failed')
  })

  it('does not let a factor that was begun earlier stand in for the verified one', async () => {
    const user = await aUser(server)
    const begun = await enroll(user, { friendly_name: 'by whoever had the password' })
    await raise(user, await enroll(user, { friendly_name: 'mine' }))
    // Verifying drops others of the type, so the one that was begun first is put back by hand.
    await server.context.db.query(
      `insert into mfa_factors (id, user_id, friendly_name, factor_type, status, phone, created_at, updated_at)
       values ($1, $2, '', 'phone', 'unverified', '4915112345678', $3, $3)`,
      [begun.id, user.user.id, server.clock.now()],
    )
    await server.context.db.query(`update mfa_factors set factor_type = 'totp', secret = 'x' where id = $1`, [
      begun.id,
    ])
    const weak = await signIn(user)
    const asked = await post(server, `/factors/${begun.id}/challenge`, {}, { token: weak.access_token })
    expectError(asked, 403, 'insufficient_aal')
  })

  it('tells the user once, when the factor is first verified', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const subject = 'A new verification method was added to your account.'
    expect(server.inbox.messages({ to: user.email, subject })).toHaveLength(0)
    await raise(await raise(user, factor), factor)
    expect(server.inbox.messages({ to: user.email, subject })).toHaveLength(1)
  })

  it('writes the audit log', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const session = await raise(user, factor)
    await unenroll(session, factor.id)
    const { rows } = await server.context.db.query<{ payload: Json }>(
      `select payload from audit_log_entries where payload ->> 'actor_id' = $1 and payload ->> 'log_type' = 'factor'
       order by created_at`,
      [user.user.id],
    )
    expect(rows.map(({ payload }) => payload['action'])).toEqual([
      'factor_in_progress',
      'challenge_created',
      'verification_attempted',
      'factor_unenrolled',
    ])
    for (const { payload } of rows)
      expect(payload['traits']).toMatchObject({ factor_id: factor.id, factor_type: 'totp' })
  })
})

describe('DELETE /factors/{id} (1.20)', () => {
  it('wants aal2 for a verified factor, not for one that was only begun', async () => {
    const user = await aUser(server)
    const begun = await enroll(user, { friendly_name: 'begun' })
    const answer = await unenroll(user, begun.id)
    expect([answer.status, answer.body]).toEqual([200, { id: begun.id }])
    const factor = await enroll(user)
    await raise(user, factor)
    expectError(await unenroll(await signIn(user), factor.id), 422, 'insufficient_aal')
  })

  it('takes the sessions that used it back to aal1, on their next refresh', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const session = await raise(user, factor)
    const other = await raise(await signIn(user), factor)
    expect((await unenroll(session, factor.id)).status).toBe(200)
    for (const { refresh_token: token } of [session, other]) {
      const refreshed = await refresh(token)
      expect(decodeJwt(refreshed.body['access_token'] as string)).toMatchObject({ aal: 'aal1' })
      expect(methodsOf(refreshed.body['access_token'] as string)).toEqual(['password'])
      expect((refreshed.body['user'] as Json)['factors']).toBeUndefined()
    }
    await server.inbox.waitForMail({
      to: user.email,
      subject: 'A verification method was removed from your account.',
    })
  })
})

describe('factors of others, for administrators (1.21)', () => {
  let admin: Session
  const asAdmin = () => ({ token: admin.access_token })
  beforeAll(async () => {
    const user = await aUser(server)
    await server.context.db.query(`update users set role = 'service_role' where id = $1`, [user.user.id])
    admin = await signIn(user)
  })

  it('renames a factor, and refuses a name that is taken', async () => {
    const user = await aUser(server)
    const factor = await enroll(user, { friendly_name: 'old' })
    await enroll(user, { friendly_name: 'taken' })
    const path = `/admin/users/${user.user.id}/factors/${factor.id}`
    const renamed = await put(server, path, { friendly_name: 'new' }, asAdmin())
    expect(renamed.status).toBe(200)
    expect(renamed.body).toMatchObject({
      id: factor.id,
      friendly_name: 'new',
      factor_type: 'totp',
      phone: '',
    })
    expect((await put(server, path, { friendly_name: 'new' }, asAdmin())).status).toBe(200)
    expectError(
      await put(server, path, { friendly_name: 'taken' }, asAdmin()),
      422,
      'mfa_factor_name_conflict',
    )
    expectError(await put(server, path, { phone: '4915112345678' }, asAdmin()), 400, 'validation_failed')
    const list = await get(server, `/admin/users/${user.user.id}/factors`, asAdmin())
    expect((list.body as unknown as Json[]).map(({ friendly_name: name }) => name).sort()).toEqual([
      'new',
      'taken',
    ])
  })

  it('removes a factor, answers it, and lowers the sessions that used it', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const session = await raise(user, factor)
    const path = `/admin/users/${user.user.id}/factors/${factor.id}`
    const removed = await call(server, 'DELETE', path, asAdmin())
    expect(removed.status).toBe(200)
    expect(removed.body).toMatchObject({ id: factor.id, status: 'verified' })
    const refreshed = await refresh(session.refresh_token)
    expect(decodeJwt(refreshed.body['access_token'] as string)).toMatchObject({ aal: 'aal1' })
    expectError(await call(server, 'DELETE', path, asAdmin()), 404, 'mfa_factor_not_found')
  })

  it('knows no factor of another user, and no malformed ids', async () => {
    const [user, other] = [await aUser(server), await aUser(server)]
    const factor = await enroll(other)
    const path = (userId: string, factorId: string) => `/admin/users/${userId}/factors/${factorId}`
    const remove = (userId: string, factorId: string) =>
      call(server, 'DELETE', path(userId, factorId), asAdmin())
    expectError(await remove(user.user.id, factor.id), 404, 'mfa_factor_not_found')
    expectError(await remove(randomUUID(), factor.id), 404, 'user_not_found')
    expectError(await remove('x', factor.id), 404, 'validation_failed')
    expectError(await remove(user.user.id, 'x'), 404, 'validation_failed')
    const asUser = { token: user.access_token }
    expectError(await call(server, 'DELETE', path(user.user.id, factor.id), asUser), 403, 'not_admin')
    expectError(await call(server, 'DELETE', path(user.user.id, factor.id)), 401, 'no_authorization')
  })
})

describe('factor types that are switched off', () => {
  let off: TestServer
  beforeAll(async () => {
    off = await startServer({
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_MFA_TOTP_ENROLL_ENABLED: 'false',
      AUTH_MFA_TOTP_VERIFY_ENABLED: 'false',
    })
  })
  afterAll(() => off.close())

  it('cannot be enrolled, challenged or verified, only removed', async () => {
    const user = (await post(off, '/signup', { email: anEmail(), password: PASSWORD })).body as Session
    const options = { token: user.access_token }
    expectError(
      await post(off, '/factors', { factor_type: 'totp' }, options),
      422,
      'mfa_totp_enroll_not_enabled',
    )
    const id = randomUUID()
    await off.context.db.query(
      `insert into mfa_factors (id, user_id, friendly_name, factor_type, status, secret, created_at, updated_at)
       values ($1, $2, '', 'totp', 'unverified', 'x', $3, $3)`,
      [id, user.user.id, off.clock.now()],
    )
    expectError(await post(off, `/factors/${id}/challenge`, {}, options), 422, 'mfa_totp_verify_not_enabled')
    const body = { challenge_id: randomUUID(), code: '123456' }
    expectError(await post(off, `/factors/${id}/verify`, body, options), 422, 'mfa_totp_verify_not_enabled')
    expect((await call(off, 'DELETE', `/factors/${id}`, options)).status).toBe(200)
  })
})
