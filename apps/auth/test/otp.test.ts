import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aPhone, aUser, expectError, get, mailTo, PASSWORD, post, type Json } from './support/api.js'
import { SITE, startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const SENDING = ['/otp', '/magiclink', '/recover', '/resend'] as const
const MINUTE = 60_000

describe('passwordless sign-in by email', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())
  const mails = (to: string) => server.inbox.messages({ to }).map(({ subject }) => subject)

  it.each(['/otp', '/magiclink'] as const)('%s emails a known user a magic link and a code', async (path) => {
    const user = await aUser(server)
    const { status, body } = await post(server, `${path}?redirect_to=${SITE}/in`, { email: user.email })
    expect([status, body]).toEqual([200, {}])
    const mail = await server.inbox.waitForMail({ to: user.email, subject: 'Your sign-in link' })
    const link = new URL(mail.links[0] ?? '')
    expect([...link.searchParams.keys()]).toEqual(['token', 'type', 'redirect_to'])
    expect(Object.fromEntries(link.searchParams)).toMatchObject({
      type: 'magiclink',
      redirect_to: `${SITE}/in`,
    })
    const verified = await post(server, '/verify', {
      type: 'magiclink',
      token: link.searchParams.get('token'),
    })
    expect(verified.body).toMatchObject({ type: 'magiclink', user: { id: user.user.id } })
  })

  it.each(['/otp', '/magiclink'] as const)(
    '%s signs up who is unknown, with a confirmation and no recovery token',
    async (path) => {
      const email = anEmail()
      expect((await post(server, path, { email, data: { via: path } })).status).toBe(200)
      expect(mails(email)).toEqual(['Confirm your email address'])
      const { rows } = await server.context.db.query(
        `select t.token_type, s.user_metadata ->> 'via' as via, u.user_metadata as known
         from one_time_tokens t join users u on u.id = t.user_id join pending_sign_ups s on s.id = t.sign_up_id
         where u.email = $1`,
        [email],
      )
      expect(rows).toEqual([{ token_type: 'confirmation', via: path, known: {} }])
    },
  )

  it('interprets create_user as the specification does, or as the client does in versioned requests', async () => {
    const cases: [unknown, boolean, number, boolean][] = [
      [true, false, 200, false],
      [false, false, 200, true],
      [undefined, false, 200, true],
      [true, true, 200, true],
      [undefined, true, 200, true],
      [false, true, 422, false],
    ]
    for (const [createUser, versioned, status, signsUp] of cases) {
      const email = anEmail()
      const answer = await post(server, '/otp', { email, create_user: createUser }, { versioned })
      expect(answer.status).toBe(status)
      if (status === 422) expectError(answer, 422, 'otp_disabled')
      else expect(answer.body).toEqual({})
      expect(mails(email)).toHaveLength(signsUp ? 1 : 0)
    }
  })

  it('warns operators only of an unversioned create_user for an unknown address', async () => {
    const known = await aUser(server)
    const warnings = () => server.lines.filter(({ msg }) => String(msg).includes('create_user')).length
    const before = warnings()
    await post(server, '/otp', { email: known.email, create_user: true })
    await post(server, '/otp', { email: anEmail(), create_user: true }, { versioned: true })
    await post(server, '/otp', { email: anEmail(), create_user: false }, { versioned: true })
    await server.settled()
    expect(warnings()).toBe(before)
    const email = anEmail()
    await post(server, '/otp', { email, create_user: true })
    await server.settled()
    expect(warnings()).toBe(before + 1)
    const line = server.lines.find(({ msg }) => String(msg).includes('create_user'))
    expect(line).toMatchObject({ level: 'warning', request_id: expect.any(String) as unknown })
    expect(JSON.stringify(line)).not.toContain(email)
  })

  it('keeps 60 seconds between two magic links and leaves the first one valid', async () => {
    const user = await aUser(server)
    await post(server, '/otp', { email: user.email })
    const { token } = await mailTo(server, user.email, server.inbox.messages({ to: user.email })[0])
    server.clock.advance(MINUTE - 1)
    const early = await post(server, '/magiclink', { email: user.email })
    expectError(early, 429, 'over_email_send_rate_limit')
    expect((await post(server, '/verify', { type: 'magiclink', token })).status).toBe(200)
    await post(server, '/otp', { email: user.email })
    server.clock.advance(MINUTE)
    expect((await post(server, '/otp', { email: user.email })).status).toBe(200)
  })

  it.each<[string, Json]>([
    ['both addresses', { email: 'a@b.co', phone: '4915112345678' }],
    ['no address', {}],
    ['a channel with email', { email: 'a@b.co', channel: 'sms' }],
    ['a bad address', { email: 'nonsense' }],
    ['half a challenge', { email: 'a@b.co', code_challenge: 'x'.repeat(43) }],
  ])('refuses %s', async (_, body) => {
    expectError(await post(server, '/otp', body), 400, 'validation_failed')
  })

  it('refuses phones while they are off', async () => {
    expectError(await post(server, '/otp', { phone: aPhone() }), 400, 'phone_provider_disabled')
  })
})

describe('POST /recover', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())

  it('answers the same for known and unknown addresses, and emails only known ones', async () => {
    const user = await aUser(server)
    const unknown = anEmail()
    const [first, second] = [
      await post(server, '/recover', { email: user.email }),
      await post(server, '/recover', { email: unknown }),
    ]
    expect([first.status, first.text]).toEqual([200, '{}'])
    expect([second.status, second.text]).toEqual([200, '{}'])
    expect(server.inbox.messages({ to: unknown })).toEqual([])
    const mail = await server.inbox.waitForMail({ to: user.email, subject: 'Reset your password' })
    const answer = await get(
      server,
      new URL(mail.links[0] ?? '').pathname.replace('/auth/v1', '') + new URL(mail.links[0] ?? '').search,
    )
    expect(answer.headers.get('location')).toContain('type=recovery')
  })

  it('confirms an unconfirmed user', async () => {
    const email = anEmail()
    await post(server, '/signup', { email, password: PASSWORD })
    await post(server, '/recover', { email })
    const mail = await server.inbox.waitForMail({ to: email, subject: 'Reset your password' })
    const token = new URL(mail.links[0] ?? '').searchParams.get('token')
    const { body } = await post(server, '/verify', { type: 'recovery', token })
    expect(body['user']).toMatchObject({ email_confirmed_at: expect.any(String) as unknown })
  })

  it('applies the longer interval, and begins it alone', async () => {
    const user = await aUser(server)
    await post(server, '/otp', { email: user.email })
    expect((await post(server, '/recover', { email: user.email })).status).toBe(200)
    server.clock.advance(15 * MINUTE - 1)
    expectError(await post(server, '/recover', { email: user.email }), 429, 'over_email_send_rate_limit')
    server.clock.advance(1)
    expect((await post(server, '/recover', { email: user.email })).status).toBe(200)
  })

  it.each([{}, { email: '' }, { email: 'nonsense' }])('refuses %j', async (body) => {
    expectError(await post(server, '/recover', body), 400, 'validation_failed')
  })
})

describe('methods that are switched off', () => {
  const servers: TestServer[] = []
  const start = async (env: Record<string, string>) => {
    const server = await startServer(env)
    servers.push(server)
    return server
  }
  afterAll(async () => {
    for (const server of servers) await server.close()
  })

  it("answers each endpoint's own error code while email is off", async () => {
    const server = await start({ AUTH_EXTERNAL_EMAIL_ENABLED: 'false' })
    const email = anEmail()
    expectError(await post(server, '/signup', { email, password: PASSWORD }), 400, 'email_provider_disabled')
    expectError(
      await post(server, '/token?grant_type=password', { email, password: PASSWORD }),
      422,
      'email_provider_disabled',
    )
    expectError(await post(server, '/otp', { email }), 422, 'email_provider_disabled')
    expectError(await post(server, '/magiclink', { email }), 422, 'email_provider_disabled')
    expectError(await post(server, '/recover', { email }), 400, 'email_provider_disabled')
    expectError(await post(server, '/resend', { type: 'signup', email }), 400, 'email_provider_disabled')
  })

  it('refuses magic links alone', async () => {
    const server = await start({ AUTH_EXTERNAL_EMAIL_MAGIC_LINK_ENABLED: 'false' })
    const email = anEmail()
    expectError(await post(server, '/magiclink', { email }), 422, 'email_provider_disabled')
    expect((await post(server, '/signup', { email, password: PASSWORD })).status).toBe(200)
  })

  it('does not sign up by code or link while sign-up is disabled, but signs known users in', async () => {
    const server = await start({ AUTH_DISABLE_SIGNUP: 'true' })
    const email = anEmail()
    for (const path of ['/otp', '/magiclink']) {
      expect((await post(server, path, { email })).status).toBe(200)
      server.clock.advance(60_000)
    }
    expect(server.inbox.messages({ to: email })).toEqual([])
    server.clock.advance(60_000)
    await post(server, '/admin/users', { email, email_confirm: true }, { token: serviceToken() })
    expect((await post(server, '/otp', { email })).status).toBe(200)
    expect(server.inbox.messages({ to: email }).map(({ subject }) => subject)).toEqual(['Your sign-in link'])
    const { code } = await mailTo(server, email)
    expect((await post(server, '/verify', { type: 'email', email, token: code })).body).toMatchObject({
      user: { email },
    })
  })

  it('signs up silently and then sends the magic link while addresses count as confirmed', async () => {
    const server = await start({ AUTH_MAILER_AUTOCONFIRM: 'true' })
    const email = anEmail()
    expect((await post(server, '/magiclink', { email })).status).toBe(200)
    expect(server.inbox.messages({ to: email }).map(({ subject }) => subject)).toEqual(['Your sign-in link'])
  })

  it('limits each sending endpoint by client with a bucket of its own', async () => {
    const server = await start({ AUTH_RATE_LIMIT_HEADER: 'X-Client', AUTH_RATE_LIMIT_OTP: '30' })
    const ask = (path: string, client: string) => post(server, path, {}, { headers: { 'X-Client': client } })
    for (const path of SENDING) {
      for (let request = 0; request < 30; request += 1) expect((await ask(path, 'a')).status).toBe(400)
      const limited = await ask(path, 'a')
      expectError(limited, 429, 'over_request_rate_limit')
      expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect((await ask('/otp', 'b')).status).toBe(400)
  })
})
