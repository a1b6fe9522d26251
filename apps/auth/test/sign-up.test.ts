import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aUser, expectError, mailTo, PASSWORD, post, type Json } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'

const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

describe('POST /signup with email confirmation', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())

  it('returns an unconfirmed user with the default role, an identity and the submitted data', async () => {
    const email = anEmail()
    const { status, body } = await post(server, '/signup', {
      email: email.toUpperCase(),
      password: PASSWORD,
      data: { plan: 'pro', email_verified: true },
    })
    expect(status).toBe(200)
    expect(body).toEqual({
      id: expect.any(String) as unknown,
      aud: 'authenticated',
      role: 'authenticated',
      email,
      phone: '',
      confirmation_sent_at: '2030-01-01T10:00:00.000Z',
      app_metadata: { provider: 'email', providers: ['email'] },
      user_metadata: { plan: 'pro', sub: body['id'], email, email_verified: false, phone_verified: false },
      identities: [
        {
          identity_id: expect.any(String) as unknown,
          id: body['id'],
          user_id: body['id'],
          provider: 'email',
          identity_data: { sub: body['id'], email, email_verified: false, phone_verified: false },
          email,
          last_sign_in_at: '2030-01-01T10:00:00.000Z',
          created_at: '2030-01-01T10:00:00.000Z',
          updated_at: '2030-01-01T10:00:00.000Z',
        },
      ],
      created_at: '2030-01-01T10:00:00.000Z',
      updated_at: '2030-01-01T10:00:00.000Z',
      is_anonymous: false,
    })
  })

  it('sends one email whose link starts at the public URL, never at the Host header', async () => {
    const email = anEmail()
    // Does not use `fetch`, which sets the Host header itself.
    const request = httpRequest(`${server.url}/signup?redirect_to=https://other.example.com/welcome?a=b`, {
      method: 'POST',
      headers: { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example' },
    })
    request.end(JSON.stringify({ email, password: PASSWORD }))
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect(response.resume().statusCode).toBe(200)
    const { mail, link } = await mailTo(server, email)
    expect(mail.subject).toBe('Confirm your email address')
    expect(link).toMatch(
      /^https:\/\/auth\.example\.com\/auth\/v1\/verify\?token=[0-9a-f]{56}&type=signup&redirect_to=/,
    )
    expect(new URL(link ?? '').searchParams.get('redirect_to')).toBe('https://other.example.com/welcome?a=b')
    expect(server.inbox.messages({ to: email })).toHaveLength(1)
  })

  it('pretends to sign up a confirmed user again: one made-up id, the submitted data, no link to confirm', async () => {
    const user = await aUser(server)
    const known = server.inbox.messages({ to: user.email }).length
    const again = () => {
      server.clock.advance(900_000)
      return post(server, '/signup', { email: user.email, password: 'another password', data: { a: 1 } })
    }
    const [first, second] = [await again(), await again()]
    const fresh = await post(server, '/signup', { email: anEmail(), password: PASSWORD })
    for (const answer of [first, second]) {
      expect(answer.status).toBe(200)
      expect(answer.body).toMatchObject({
        role: 'authenticated',
        email: user.email,
        identities: [{ provider: 'email', user_id: answer.body['id'] }],
        user_metadata: { a: 1, sub: answer.body['id'] },
        app_metadata: { provider: 'email', providers: ['email'] },
      })
      expect(Object.keys(answer.body).sort()).toEqual(Object.keys(fresh.body).sort())
    }
    expect(second.body['id']).toBe(first.body['id'])
    expect(first.body['id']).not.toBe(user.user.id)
    const subjects = server.inbox.messages({ to: user.email }).map(({ subject }) => subject)
    expect(subjects.slice(known)).toEqual(['You already have an account', 'You already have an account'])
    expectError(
      await post(server, '/token?grant_type=password', { email: user.email, password: 'another password' }),
      400,
      'email_not_confirmed',
    )
    const own = { email: user.email, password: user.password }
    expect((await post(server, '/token?grant_type=password', own)).status).toBe(200)
  })

  it('accepts another sign-up for an unproven address after the interval of 900 s, each with its own link', async () => {
    const email = anEmail()
    const first = await post(server, '/signup', { email, password: PASSWORD, data: { mine: true } })
    const before = await mailTo(server, email)
    const again = () => post(server, '/signup', { email, password: 'somebody else', data: { mine: false } })
    server.clock.advance(899_000)
    const early = await again()
    expectError(early, 429, 'over_email_send_rate_limit', /after 1 seconds/)
    expect(early.headers.get('retry-after')).toBe('1')
    server.clock.advance(1000)
    const late = await again()
    expect(late.body).toMatchObject({ id: first.body['id'], user_metadata: { mine: false } })
    await mailTo(server, email, before.mail)
    const verified = await post(server, '/verify', { type: 'signup', token: before.token })
    expect(verified.body['user']).toMatchObject({ user_metadata: { mine: true } })
    const signIn = (password: string) => post(server, '/token?grant_type=password', { email, password })
    expect((await signIn(PASSWORD)).status).toBe(200)
    expectError(await signIn('somebody else'), 400, 'invalid_credentials')
  })

  it('creates one user for many parallel sign-ups with one address', async () => {
    const email = anEmail()
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => post(server, '/signup', { email, password: PASSWORD })),
    )
    const good = answers.filter(({ status }) => status === 200)
    expect(good).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(7)
    expect(server.inbox.messages({ to: email })).toHaveLength(1)
  })

  it.each<[string, Json, number, string]>([
    ['no password', { email: 'a@b.co' }, 400, 'validation_failed'],
    ['an empty password', { email: 'a@b.co', password: '' }, 400, 'validation_failed'],
    ['a password of 73 bytes', { email: 'a@b.co', password: 'x'.repeat(73) }, 400, 'validation_failed'],
    [
      'a password of 73 bytes in 37 characters',
      { email: 'a@b.co', password: `${'é'.repeat(36)}x` },
      400,
      'validation_failed',
    ],
    ['a short password', { email: 'a@b.co', password: '12345' }, 422, 'weak_password'],
    [
      'both addresses',
      { email: 'a@b.co', phone: '4915112345678', password: PASSWORD },
      400,
      'validation_failed',
    ],
    [
      'an unknown channel',
      { email: 'a@b.co', password: PASSWORD, channel: 'pigeon' },
      400,
      'validation_failed',
    ],
    [
      'WhatsApp without twilio',
      { email: 'a@b.co', password: PASSWORD, channel: 'whatsapp' },
      400,
      'validation_failed',
    ],
    [
      'half a challenge',
      { email: 'a@b.co', password: PASSWORD, code_challenge: CHALLENGE },
      400,
      'validation_failed',
    ],
    [
      'an unknown challenge method',
      { email: 'a@b.co', password: PASSWORD, code_challenge: CHALLENGE, code_challenge_method: 'md5' },
      400,
      'validation_failed',
    ],
    [
      'a short challenge',
      { email: 'a@b.co', password: PASSWORD, code_challenge: 'x'.repeat(42), code_challenge_method: 's256' },
      400,
      'validation_failed',
    ],
    [
      'a challenge with other characters',
      { email: 'a@b.co', password: PASSWORD, code_challenge: 'ä'.repeat(43), code_challenge_method: 's256' },
      400,
      'validation_failed',
    ],
    [
      'phone with PKCE',
      {
        phone: '4915112345678',
        password: PASSWORD,
        code_challenge: CHALLENGE,
        code_challenge_method: 's256',
      },
      400,
      'validation_failed',
    ],
    ['phone while it is off', { phone: '4915112345678', password: PASSWORD }, 400, 'phone_provider_disabled'],
    ['a bad address', { email: 'not an address', password: PASSWORD }, 400, 'validation_failed'],
    ['an anonymous sign-up while it is off', {}, 422, 'anonymous_provider_disabled'],
  ])('refuses %s', async (_, body, status, code) => {
    expectError(await post(server, '/signup', body), status, code)
  })

  it('says what a weak password lacks, in both versions', async () => {
    const body = { email: anEmail(), password: '12345' }
    const initial = await post(server, '/signup', body)
    expect(initial.body).toEqual({
      code: 422,
      error_code: 'weak_password',
      msg: expect.stringContaining('Password should be at least 6 characters') as unknown,
      weak_password: { reasons: ['length'] },
    })
    const versioned = await post(server, '/signup', body, { versioned: true })
    expect(versioned.body).toEqual({
      code: 'weak_password',
      message: expect.stringContaining('Password should be at least 6 characters') as unknown,
      weak_password: { reasons: ['length'] },
    })
  })

  it('does not delay the next sign-up when the mail server refuses the address', async () => {
    const email = anEmail()
    server.inbox.fail({ at: 'recipient', to: (address) => address === email })
    expect((await post(server, '/signup', { email, password: PASSWORD })).status).toBe(200)
    const { rows } = await server.context.db.query('select 1 from users where email = $1', [email])
    expect(rows).toEqual([])
    server.inbox.fail(null)
    // The interval stays, because an email that was refused must reveal no more than one that was sent.
    server.clock.advance(900_000)
    const again = await post(server, '/signup', { email, password: PASSWORD })
    expect(again.status).toBe(200)
    const { token } = await mailTo(server, email)
    expect((await post(server, '/verify', { type: 'signup', token })).status).toBe(200)
  })
})
