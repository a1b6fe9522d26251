import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { aUser, expectError, get, post, type Json, type Session } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { FACTOR_ENVIRONMENT, factorSteps, type Enrolled } from './support/factors.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer(FACTOR_ENVIRONMENT)
})
afterAll(() => server.close())
const { enroll, challenge, raise, signIn, factorsOf } = factorSteps(() => server)

describe('POST /factors, totp', () => {
  it('returns a secret, a URI and a QR code that clients can embed', async () => {
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
      `otpauth://totp/Example%20App:${encodeURIComponent(user.email)}?issuer=Example%20App&secret=${totp.secret}&algorithm=SHA1&digits=6&period=30`,
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

  it('uses the site as issuer unless the request names one', async () => {
    const { totp } = await enroll(await aUser(server))
    expect(new URL(totp.uri).searchParams.get('issuer')).toBe('app.example.com')
  })

  it('stores the secret encrypted and never shows it again', async () => {
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
    for (const friendly_name of ['one', 'o\u202ene', ' one\u200b'])
      expectError(await again({ friendly_name }), 422, 'mfa_factor_name_conflict')
    await enroll(user)
    expectError(await again({}), 422, 'mfa_factor_name_conflict')
    await enroll(await aUser(server), { friendly_name: 'one' })
  })

  it('gives a name to exactly one of many parallel enrollments', async () => {
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

  it('limits the number of factors, except those enrolled more than 300 s ago and never challenged', async () => {
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

  it('limits the number of verified factors', async () => {
    const user = await aUser(server)
    let session: { access_token: string } = user
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

  it('requires the verified factor first if there is one', async () => {
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
