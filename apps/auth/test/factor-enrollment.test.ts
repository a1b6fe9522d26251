import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { aUser, expectError, get, post, type Json, type Session } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { FACTOR_ENVIRONMENT, factorSteps, type Enrolled } from './support/factors.js'
import { meetAtUser } from './support/locks.js'

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
    [
      'an issuer that no QR code holds',
      { factor_type: 'totp', issuer: 'ー'.repeat(255) },
      400,
      'validation_failed',
    ],
    ['a name that is no text', { factor_type: 'totp', friendly_name: 1 }, 400, 'bad_json'],
  ])('refuses %s', async (_name, body, status, code) => {
    const { access_token, user } = await aUser(server)
    expectError(await post(server, '/factors', body, { token: access_token }), status, code)
    const { rows } = await server.context.db.query('select 1 as found from mfa_factors where user_id = $1', [
      user.id,
    ])
    expect(rows).toEqual([])
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

  it('refuses the name of a verified factor; two factors without a name clash too', async () => {
    const user = await aUser(server)
    let session: { access_token: string } = user
    const again = (body: Json) =>
      post(server, '/factors', { factor_type: 'totp', ...body }, { token: session.access_token })
    session = await raise(session, await enroll(session, { friendly_name: 'one' }))
    for (const friendly_name of ['one', 'o\u202ene', ' one\u200b'])
      expectError(await again({ friendly_name }), 422, 'mfa_factor_name_conflict')
    session = await raise(session, await enroll(session))
    expectError(await again({}), 422, 'mfa_factor_name_conflict')
    await enroll(await aUser(server), { friendly_name: 'one' })
  })

  it.each(['one', ''])('replaces an enrollment named "%s" that was not finished', async (name) => {
    const user = await aUser(server)
    const left = await enroll(user, { friendly_name: name })
    await challenge(user, left.id)
    const begun = await enroll(user, { friendly_name: name })
    expect(await factorsOf(user)).toEqual([expect.objectContaining({ id: begun.id, status: 'unverified' })])
    const session = await raise(user, begun)
    const options = { token: session.access_token }
    expectError(await post(server, `/factors/${left.id}/challenge`, {}, options), 404, 'mfa_factor_not_found')
  })

  it('leaves the last one of many parallel enrollments with a name', async () => {
    const user = await aUser(server)
    const options = { token: user.access_token }
    const attempts = Array.from(
      { length: 8 },
      () => () => post(server, '/factors', { factor_type: 'totp' }, options),
    )
    const answers = await meetAtUser(server, user.user.id, attempts)
    expect(answers.map(({ status }) => status)).toEqual(attempts.map(() => 200))
    const [held, ...others] = await factorsOf(user)
    expect(others).toEqual([])
    expect(answers.map(({ body }) => body['id'])).toContain(held?.['id'])
  })

  it('limits the number of factors; the oldest unfinished one gives way to a new one', async () => {
    const user = await aUser(server)
    const named = async (friendly_name: string) => {
      server.clock.advance(1000)
      return enroll(user, { friendly_name })
    }
    for (const name of ['1', '2', '3', '4', '5', '6', '7']) await challenge(user, (await named(name)).id)
    const namesOf = async () => (await factorsOf(user)).map(({ friendly_name: name }) => name).sort()
    expect(await namesOf()).toEqual(['3', '4', '5', '6', '7'])
    await named('7')
    expect(await namesOf()).toEqual(['3', '4', '5', '6', '7'])
  })

  it('keeps the limit when enrollments meet, and every verified factor', async () => {
    const user = await aUser(server)
    const kept = await enroll(user, { friendly_name: 'kept' })
    const { access_token: token } = await raise(user, kept)
    const attempts = Array.from({ length: 8 }, (_, index) => () => {
      const body = { factor_type: 'totp', friendly_name: String(index) }
      return post(server, '/factors', body, { token })
    })
    await meetAtUser(server, user.user.id, attempts)
    const factors = await factorsOf({ access_token: token })
    expect(factors).toHaveLength(5)
    expect(factors).toContainEqual(expect.objectContaining({ id: kept.id, status: 'verified' }))
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
