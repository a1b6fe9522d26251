import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  aUser,
  anEmail,
  call,
  expectError,
  get,
  mailTo,
  PASSWORD,
  post,
  put,
  type Json,
} from './support/api.js'
import { passwordHashOf } from './support/password-hash.js'
import { SITE, startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const signUp = async (server: TestServer, body: Json = {}, path = '/signup') => {
  const email = anEmail()
  expect((await post(server, path, { email, password: PASSWORD, ...body })).status).toBe(200)
  return { email, ...(await mailTo(server, email)) }
}
const follow = (server: TestServer, token: unknown, type = 'signup', query = '') =>
  get(server, `/verify?type=${type}&token=${String(token)}${query}`)
const fragmentOf = (location: string | null) => new URLSearchParams((location ?? '').split('#').at(-1))

describe('GET /verify', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())

  it('redirects with 303 and a session in the fragment, in the order that clients know', async () => {
    const { token } = await signUp(server)
    const answer = await follow(server, token)
    expect(answer.status).toBe(303)
    const location = answer.headers.get('location') ?? ''
    expect(location).toMatch(
      new RegExp(
        `^${SITE}#access_token=[^&]+&expires_at=\\d+&expires_in=3600&refresh_token=[^&]+&sb=&token_type=bearer&type=signup$`,
      ),
    )
    const user = await get(server, '/user', { token: fragmentOf(location).get('access_token') ?? '' })
    expect(user.body).toMatchObject({
      email_confirmed_at: expect.any(String) as unknown,
      user_metadata: { email_verified: true },
      identities: [{ identity_data: { email_verified: true } }],
    })
  })

  it('appends the fragment to an allowed target unchanged, and never redirects to any other', async () => {
    const allowed = await signUp(server)
    const target = encodeURIComponent('https://other.example.com/app?keep=%20me#/')
    expect(
      (await follow(server, allowed.token, 'signup', `&redirect_to=${target}`)).headers.get('location'),
    ).toMatch(/^https:\/\/other\.example\.com\/app\?keep=%20me#\/#access_token=/)
    const evil = await signUp(server)
    expect(
      (await follow(server, evil.token, 'signup', '&redirect_to=https://evil.example')).headers.get(
        'location',
      ),
    ).toMatch(new RegExp(`^${SITE}#access_token=`))
  })

  it('works once, and answers the same for used, unknown and foreign tokens', async () => {
    const { token } = await signUp(server)
    expect((await follow(server, token)).headers.get('location')).toContain('access_token')
    const locations = await Promise.all([
      follow(server, token),
      follow(server, '0'.repeat(56)),
      follow(server, 'x'),
    ])
    expect(new Set(locations.map(({ headers }) => headers.get('location')))).toEqual(
      new Set([
        `${SITE}#error=access_denied&error_code=otp_expired&error_description=Token+has+expired+or+is+invalid&sb=`,
      ]),
    )
  })

  it('is not spent by HEAD requests, which link previews and email scanners send', async () => {
    const email = anEmail()
    await post(server, '/signup', { email, password: PASSWORD })
    const { token } = await mailTo(server, email)
    const path = `/verify?type=signup&token=${token}`
    const head = await call(server, 'HEAD', path)
    // HEAD refuses an unusable link in the same way as GET.
    const [broken = ''] = path.split('?')
    expect((await call(server, 'HEAD', broken)).status).toBe((await get(server, broken)).status)
    expect([head.status, head.headers.get('location')]).toEqual([204, null])
    expect((await get(server, path)).headers.get('location')).toContain('access_token=')
    // HEAD requests do not reveal either that the link was used.
    expect((await call(server, 'HEAD', path)).status).toBe(204)
  })

  it('lets exactly one of many parallel clicks through', async () => {
    const { token } = await signUp(server)
    const answers = await Promise.all(Array.from({ length: 10 }, () => follow(server, token)))
    expect(answers.filter(({ headers }) => headers.get('location')?.includes('access_token'))).toHaveLength(1)
  })

  it('refuses a link after AUTH_MAILER_OTP_EXP', async () => {
    const { token } = await signUp(server)
    server.clock.advance(86_400_000)
    expect((await follow(server, token)).headers.get('location')).toContain('error_code=otp_expired')
  })

  it('does not accept a confirmation as a recovery, or vice versa', async () => {
    const { token } = await signUp(server)
    expect((await follow(server, token, 'recovery')).headers.get('location')).toContain('otp_expired')
    expect((await follow(server, token)).headers.get('location')).toContain('access_token')
  })

  it('answers JSON for a missing token or type, and redirects for a bad type', async () => {
    expectError(await get(server, '/verify?type=signup'), 400, 'validation_failed')
    expectError(await get(server, '/verify?token=x'), 400, 'validation_failed')
    const bad = await get(server, '/verify?type=nonsense&token=x')
    expect(fragmentOf(bad.headers.get('location')).get('error_code')).toBe('validation_failed')
  })

  it('replaces a fragment of the target and keeps its query when it reports an error', async () => {
    const target = encodeURIComponent('https://other.example.com/app?keep=1&error=mine#old')
    const implicit = await follow(server, 'unknown', 'signup', `&redirect_to=${target}`)
    expect(implicit.headers.get('location')).toMatch(
      /^https:\/\/other\.example\.com\/app\?keep=1&error=mine#error=access_denied&error_code=otp_expired&/,
    )
    const pkce = await follow(server, 'pkce_unknown', 'signup', `&redirect_to=${target}`)
    const { searchParams, hash } = new URL(pkce.headers.get('location') ?? '')
    expect(Object.fromEntries(searchParams)).toMatchObject({
      keep: '1',
      error: 'access_denied',
      error_code: 'otp_expired',
    })
    expect(searchParams.getAll('error')).toEqual(['access_denied'])
    expect(hash).toMatch(/^#error=access_denied&.*&sb=$/)
  })

  it('refuses a banned user with user_banned and keeps the link for later', async () => {
    const { token, code, email } = await signUp(server)
    await server.context.db.query("update users set banned_until = 'infinity' where email = $1", [email])
    expect(fragmentOf((await follow(server, token)).headers.get('location')).get('error_code')).toBe(
      'user_banned',
    )
    for (const proof of [{ token_hash: token }, { email, token: code }])
      expectError(await post(server, '/verify', { type: 'signup', ...proof }), 403, 'user_banned')
    await server.context.db.query('update users set banned_until = null where email = $1', [email])
    expect((await follow(server, token)).headers.get('location')).toContain('access_token')
  })
})

describe('POST /verify', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())

  it('accepts a code with its address, and returns a session with the type', async () => {
    const { email, code } = await signUp(server)
    expect(code).toMatch(/^\d{6}$/)
    const { status, body } = await post(server, '/verify', { type: 'signup', email, token: code })
    expect(status).toBe(200)
    expect(body).toMatchObject({ token_type: 'bearer', type: 'signup', user: { email } })
    const claims = JSON.parse(
      Buffer.from(String(body['access_token']).split('.')[1] ?? '', 'base64url').toString(),
    ) as { amr: { method: string }[] }
    expect(claims.amr).toEqual([expect.objectContaining({ method: 'otp' })])
  })

  it('accepts the link token as token_hash, with type and token alone (SPEC), and with either prefix', async () => {
    const first = await signUp(server)
    expect((await post(server, '/verify', { type: 'signup', token_hash: first.token })).status).toBe(200)
    const second = await signUp(server)
    expect((await post(server, '/verify', { type: 'signup', token: second.token })).status).toBe(200)
  })

  it('never accepts a bare code without an address as a link token', async () => {
    const { code } = await signUp(server)
    expectError(await post(server, '/verify', { type: 'signup', token: code }), 403, 'otp_expired')
    expectError(await post(server, '/verify', { type: 'sms', token: code }), 403, 'otp_expired')
  })

  it('does not change the metadata of a confirmed user who signs in by link', async () => {
    const email = anEmail()
    const body = { email, email_confirm: true }
    const { body: made } = await post(server, '/admin/users', body, { token: serviceToken() })
    await server.context.db.query(`update users set user_metadata = '{"a":1}' where id = $1`, [made['id']])
    await post(server, '/magiclink', { email })
    const { token } = await mailTo(server, email)
    const signedIn = await post(server, '/verify', { type: 'magiclink', token })
    expect(signedIn.body['user']).toMatchObject({ email_confirmed_at: made['email_confirmed_at'] })
    expect((signedIn.body['user'] as Json)['user_metadata']).toEqual({ a: 1 })
  })

  it('resolves type email to signup or magiclink', async () => {
    const { email, code } = await signUp(server)
    const first = await post(server, '/verify', { type: 'email', email, token: code })
    expect(first.body['type']).toBe('signup')
    await post(server, '/otp', { email })
    const magic = await server.inbox.waitForMail({ to: email, subject: 'Your sign-in link' })
    const second = await post(server, '/verify', {
      type: 'email',
      email,
      token: /\b(\d{6})\b/.exec(magic.text || magic.html)?.[1],
    })
    expect(second.body['type']).toBe('magiclink')
  })

  it('accepts no code after 10 wrong tries, which look alike and do not affect the link', async () => {
    const { email, code, token } = await signUp(server)
    const wrong = code === '000000' ? '000001' : '000000'
    for (let attempt = 0; attempt < 10; attempt += 1)
      expectError(
        await post(server, '/verify', { type: 'signup', email, token: wrong }, { versioned: true }),
        403,
        'otp_expired',
        /^Token has expired or is invalid$/,
      )
    expectError(await post(server, '/verify', { type: 'signup', email, token: code }), 403, 'otp_expired')
    expect((await post(server, '/verify', { type: 'signup', token })).status).toBe(200)
  })

  it('does not let parallel guesses past the limit', async () => {
    const { email, code } = await signUp(server)
    const guesses = Array.from({ length: 40 }, (_, index) => String(index + 100000))
    await Promise.all(guesses.map((token) => post(server, '/verify', { type: 'signup', email, token })))
    if (guesses.includes(code ?? '')) return
    expectError(await post(server, '/verify', { type: 'signup', email, token: code }), 403, 'otp_expired')
  })

  it('answers the same for an unknown user and a wrong code', async () => {
    const { email } = await signUp(server)
    const known = await post(server, '/verify', { type: 'signup', email, token: '000000' })
    const unknown = await post(server, '/verify', { type: 'signup', email: anEmail(), token: '000000' })
    expect([unknown.status, unknown.text]).toEqual([known.status, known.text])
  })

  it("does not accept one user's code for another", async () => {
    const [first, second] = [await signUp(server), await signUp(server)]
    expectError(
      await post(server, '/verify', { type: 'signup', email: second.email, token: first.code }),
      403,
      'otp_expired',
    )
  })

  it.each<[string, Json, number]>([
    ['no type', { token: 'x' }, 400],
    ['no token', { type: 'signup' }, 400],
    ['both tokens', { type: 'signup', token: 'x', token_hash: 'y' }, 400],
    ['both addresses', { type: 'signup', token: 'x', email: 'a@b.co', phone: '4915112345678' }, 400],
    ['an address together with token_hash', { type: 'signup', token_hash: 'x', email: 'a@b.co' }, 400],
    ['redirect_to together with token_hash', { type: 'signup', token_hash: 'x', redirect_to: SITE }, 400],
    ['an unsupported type', { type: 'nonsense', token: 'x' }, 400],
    ['a phone type with email', { type: 'sms', token: 'x', email: 'a@b.co' }, 400],
    ['a bad phone', { type: 'sms', token: 'x', phone: 'abc' }, 400],
    ['a bad email', { type: 'signup', token: 'x', email: 'abc' }, 422],
  ])('refuses %s', async (_, body, status) => {
    expectError(await post(server, '/verify', body), status, 'validation_failed')
  })

  it('requires a password from an invited user, and stores it; versioned requests do not need one', async () => {
    const invite = async () => {
      const email = anEmail()
      await post(server, '/invite', { email }, { token: serviceToken() })
      return { email, ...(await mailTo(server, email)) }
    }
    const { email, code } = await invite()
    const verify = (body: Json) => post(server, '/verify', { type: 'signup', email, token: code, ...body })
    expectError(await verify({}), 422, 'validation_failed')
    expectError(await verify({ password: '123' }), 422, 'weak_password')
    expect((await verify({ password: PASSWORD })).status).toBe(200)
    expect((await post(server, '/token?grant_type=password', { email, password: PASSWORD })).status).toBe(200)
    const other = await invite()
    const versioned = { type: 'signup', email: other.email, token: other.code }
    expect((await post(server, '/verify', versioned, { versioned: true })).status).toBe(200)
  })

  it('confirms the email of an invited user, who still has no password', async () => {
    const email = anEmail()
    await post(server, '/invite', { email }, { token: serviceToken() })
    const { token, mail } = await mailTo(server, email)
    expect(mail.subject).toBe("You've been invited")
    const answer = await post(server, '/verify', { type: 'invite', token })
    const time = expect.any(String) as unknown
    expect(answer.body).toMatchObject({
      type: 'invite',
      user: { invited_at: time, email_confirmed_at: time },
    })
    expect(await passwordHashOf(server, email)).toBeNull()
  })

  it('deletes all one-time tokens of the user on success', async () => {
    const user = await aUser(server)
    await post(server, '/recover', { email: user.email })
    await put(server, '/user', { email: anEmail() }, { token: user.access_token })
    const recovery = await server.inbox.waitForMail({ to: user.email, subject: 'Reset your password' })
    const token = new URL(recovery.links[0] ?? '').searchParams.get('token')
    expect((await post(server, '/verify', { type: 'recovery', token })).status).toBe(200)
    const { rows } = await server.context.db.query('select 1 from one_time_tokens where user_id = $1', [
      user.user.id,
    ])
    expect(rows).toEqual([])
  })
})
