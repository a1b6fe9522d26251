import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  anEmail,
  aPhone,
  expectError,
  get,
  mailTo,
  PASSWORD,
  post,
  put,
  type ApiAnswer,
  type Json,
} from './support/api.js'
import { signInWith, userOf } from './support/fake-provider.js'
import { anId, identitiesOf, startProviderSite, type ProviderSite } from './support/provider-site.js'
import { NO_EMAIL_GAPS, type TestServer } from './support/server.js'
import { startSmsGateway, type SmsGateway } from './support/sms-gateway.js'
import { serviceToken } from './support/tokens.js'

const STRANGERS = 'of the stranger'
const admin = { token: serviceToken() }

/** How somebody came by an account that they have not proved to be theirs. */
type Earlier = { password: string; data: Json }
const EARLIER: Record<string, Earlier> = {
  'a stranger': { password: STRANGERS, data: { from: 'stranger' } },
  'the same person': { password: PASSWORD, data: { from: 'self' } },
}

let gateway: SmsGateway
let site: ProviderSite
let server: TestServer
beforeAll(async () => {
  gateway = await startSmsGateway()
  site = await startProviderSite(
    {
      ...NO_EMAIL_GAPS,
      AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '0',
      AUTH_SMS_MAX_FREQUENCY: '0',
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS: 'true',
      ...gateway.env,
    },
    { smsUrls: gateway.urls },
  )
  server = site.server
})
afterAll(async () => {
  await site.close()
  gateway.close()
})

const signIn = (address: Json, password: string) =>
  post(server, '/token?grant_type=password', { ...address, password })
const userOfAnswer = ({ body }: ApiAnswer): Json => (body['user'] ?? body) as Json
const verify = (body: Json) => post(server, '/verify', body, { versioned: true })
const userRow = async (where: Json): Promise<Json> => {
  const [[column, value] = ['', '']] = Object.entries(where)
  const { rows } = await server.context.db.query<Json>(
    `select id, encrypted_password, user_metadata from users where ${column} = $1`,
    [value],
  )
  return rows[0] ?? {}
}

/** Every email after `from` has been asked for. */
const secretsOf = async (email: string, send: () => Promise<ApiAnswer>) => {
  const last = server.inbox.messages({ to: email }).at(-1)
  const sent = await send()
  expect(sent.status).toBe(200)
  return { sent, ...(await mailTo(server, email, last)) }
}

/** Proofs of an email address, other than the link or code of the sign-up itself. Each answers the user. */
const EMAIL_PROOFS: Record<string, (email: string) => Promise<Json>> = {
  async 'a magic link'(email) {
    const { token } = await secretsOf(email, () => post(server, '/magiclink', { email }))
    return userOfAnswer(await verify({ type: 'email', token_hash: token }))
  },
  async 'a recovery link'(email) {
    const { token } = await secretsOf(email, () => post(server, '/recover', { email }))
    return userOfAnswer(await verify({ type: 'recovery', token_hash: token }))
  },
  async 'a code by email'(email) {
    const { code } = await secretsOf(email, () => post(server, '/otp', { email }))
    return userOfAnswer(await verify({ type: 'email', email, token: code }))
  },
  async 'an invitation'(email) {
    const { token } = await secretsOf(email, () => post(server, '/invite', { email }, admin))
    return userOfAnswer(await verify({ type: 'invite', token_hash: token }))
  },
  async 'an administrator'(email) {
    const { id } = await userRow({ email })
    return (await put(server, `/admin/users/${String(id)}`, { email_confirm: true }, admin)).body
  },
  async 'a provider that vouches for it'(email) {
    site.github(anId(), { email })
    return userOf(server, await signInWith(server, 'github'))
  },
  async 'a generated link'(email) {
    const { body } = await post(server, '/admin/generate_link', { type: 'magiclink', email }, admin)
    return userOfAnswer(await verify({ type: 'magiclink', token_hash: body['hashed_token'] }))
  },
}

const signUp = (address: Json, { password, data }: Earlier, more: Json = {}) =>
  post(server, '/signup', { ...address, password, data, ...more })

describe.each(Object.entries(EARLIER))('after a sign-up by %s', (_, earlier) => {
  it.each(Object.entries(EMAIL_PROOFS))('%s gives nothing of it power', async (_name, prove) => {
    const email = anEmail()
    const { token, code } = await secretsOf(email, () => signUp({ email }, earlier))
    const user = await prove(email)
    expect(user).toMatchObject({ email, email_confirmed_at: expect.any(String) as unknown })
    expect(user['user_metadata']).not.toHaveProperty('from')
    expectError(await signIn({ email }, earlier.password), 400, 'invalid_credentials')
    expectError(await post(server, '/verify', { type: 'signup', token }), 403, 'otp_expired')
    expectError(await post(server, '/verify', { type: 'signup', email, token: code }), 403, 'otp_expired')
    expect(await userRow({ email })).toMatchObject({ encrypted_password: null })
  })

  it.each([
    ['link', ({ token }: Json) => ({ type: 'signup', token_hash: token })],
    ['code', ({ code }: Json, email: string) => ({ type: 'signup', email, token: code })],
  ] as const)('its own %s gives it its password and its data', async (_name, proofOf) => {
    const email = anEmail()
    const secrets = await secretsOf(email, () => signUp({ email }, earlier))
    expect(await userRow({ email })).toMatchObject({ encrypted_password: null, user_metadata: {} })
    expectError(await signIn({ email }, earlier.password), 400, 'email_not_confirmed')
    const { status, body } = await verify(proofOf(secrets, email))
    expect(status).toBe(200)
    expect(body['user']).toMatchObject({ user_metadata: { ...earlier.data, email, email_verified: true } })
    expect((await signIn({ email }, earlier.password)).status).toBe(200)
  })

  it.each(['a code by SMS', 'an administrator'])('%s of a phone gives nothing of it power', async (proof) => {
    const phone = aPhone()
    expect((await signUp({ phone }, earlier)).status).toBe(200)
    const old = gateway.codeFor(phone)
    let user: Json
    if (proof === 'an administrator') {
      const { id } = await userRow({ phone })
      user = (await put(server, `/admin/users/${String(id)}`, { phone_confirm: true }, admin)).body
    } else {
      expect((await post(server, '/otp', { phone })).status).toBe(200)
      user = userOfAnswer(await verify({ type: 'sms', phone, token: gateway.codeFor(phone) }))
    }
    expect(user).toMatchObject({ phone, phone_confirmed_at: expect.any(String) as unknown })
    expect(user['user_metadata']).not.toHaveProperty('from')
    expectError(await signIn({ phone }, earlier.password), 400, 'invalid_credentials')
    expectError(await verify({ type: 'sms', phone, token: old }), 403, 'otp_expired')
  })

  it('its own code by SMS gives it its password and its data', async () => {
    const phone = aPhone()
    await signUp({ phone }, earlier)
    expectError(await signIn({ phone }, earlier.password), 400, 'phone_not_confirmed')
    const { body } = await verify({ type: 'sms', phone, token: gateway.codeFor(phone) })
    expect(body['user']).toMatchObject({ user_metadata: { ...earlier.data, phone, phone_verified: true } })
    expect((await signIn({ phone }, earlier.password)).status).toBe(200)
  })
})

describe('several sign-ups of one address', () => {
  const stranger = EARLIER['a stranger'] as Earlier
  const self = EARLIER['the same person'] as Earlier

  it.each([
    ['the stranger came first', [stranger, self]],
    ['the stranger came last', [self, stranger]],
  ])('each have their own password: %s', async (_, order) => {
    const email = anEmail()
    const links = new Map<Earlier, string>()
    for (const who of order)
      links.set(who, (await secretsOf(email, () => signUp({ email }, who))).token ?? '')
    const { body } = await verify({ type: 'signup', token_hash: links.get(self) })
    expect(body['user']).toMatchObject({ user_metadata: { from: 'self' } })
    expect((await signIn({ email }, PASSWORD)).status).toBe(200)
    expectError(await signIn({ email }, STRANGERS), 400, 'invalid_credentials')
    expectError(await verify({ type: 'signup', token_hash: links.get(stranger) }), 403, 'otp_expired')
  })

  it('end with one winner when their links are used at once', async () => {
    const email = anEmail()
    const passwords = [1, 2, 3, 4, 5].map((n) => `${PASSWORD} ${n}`)
    const tokens: unknown[] = []
    for (const password of passwords)
      tokens.push((await secretsOf(email, () => signUp({ email }, { password, data: {} }))).token)
    const answers = await Promise.all(tokens.map((token) => verify({ type: 'signup', token_hash: token })))
    const winner = answers.findIndex(({ status }) => status === 200)
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403, 403, 403, 403])
    const signIns = await Promise.all(passwords.map((password) => signIn({ email }, password)))
    expect(signIns.map(({ status }) => status === 200)).toEqual(passwords.map((_, n) => n === winner))
  })

  it('are limited in number, and the newest ones stay', async () => {
    const email = anEmail()
    const tokens: unknown[] = []
    for (let n = 0; n < 7; n += 1, server.clock.advance(1000))
      tokens.push(
        (await secretsOf(email, () => signUp({ email }, { password: `${PASSWORD} ${n}`, data: {} }))).token,
      )
    expectError(await verify({ type: 'signup', token_hash: tokens[0] }), 403, 'otp_expired')
    const { rows } = await server.context.db.query(
      'select 1 from pending_sign_ups s join users u on u.id = s.user_id where u.email = $1',
      [email],
    )
    expect(rows).toHaveLength(5)
    expect((await verify({ type: 'signup', token_hash: tokens[6] })).status).toBe(200)
  })

  it('have no part in a confirmation that is sent again, unless there is only one', async () => {
    const resend = (email: string) =>
      secretsOf(email, () => post(server, '/resend', { type: 'signup', email }))
    const alone = anEmail()
    await secretsOf(alone, () => signUp({ email: alone }, self))
    const { token } = await resend(alone)
    expect((await verify({ type: 'signup', token_hash: token })).status).toBe(200)
    expect((await signIn({ email: alone }, PASSWORD)).status).toBe(200)

    const email = anEmail()
    await secretsOf(email, () => signUp({ email }, self))
    await secretsOf(email, () => signUp({ email }, stranger))
    const again = await resend(email)
    expect((await verify({ type: 'signup', token_hash: again.token })).status).toBe(200)
    for (const password of [PASSWORD, STRANGERS])
      expectError(await signIn({ email }, password), 400, 'invalid_credentials')
  })

  it('never leave a password in a row whose address nobody has proved, whatever the code does', async () => {
    const email = anEmail()
    await secretsOf(email, () => signUp({ email }, stranger))
    const write = server.context.db.query("update users set encrypted_password = 'x' where email = $1", [
      email,
    ])
    await expect(write).rejects.toThrow(/users_password_needs_proof/)
  })
})

describe('an account that a provider made without vouching for the address', () => {
  const aStrangersAccount = async () => {
    const email = anEmail()
    site.github(anId(), { email, verified: false })
    const { fragment } = await signInWith(server, 'github')
    const token = fragment['access_token'] ?? ''
    const factor = await post(server, '/factors', { factor_type: 'totp' }, { token })
    expect(factor.status).toBe(200)
    await put(server, '/user', { data: { from: 'stranger' } }, { token })
    return { email, token, refreshToken: fragment['refresh_token'] }
  }

  it.each(Object.entries(EMAIL_PROOFS).filter(([name]) => !name.includes('provider')))(
    '%s ends its sessions and takes its factors, identities and data away',
    async (_, prove) => {
      const { email, refreshToken } = await aStrangersAccount()
      const user = await prove(email)
      expect(identitiesOf(user)).toEqual(['email'])
      expect(user).not.toHaveProperty('factors')
      expect(user['user_metadata']).not.toHaveProperty('from')
      const refresh = await post(server, '/token?grant_type=refresh_token', { refresh_token: refreshToken })
      expect(refresh.status).toBe(400)
      const { fragment } = await signInWith(server, 'github')
      const back = await get(server, '/user', { token: fragment['access_token'] ?? '' })
      expect(back.body['id']).not.toBe(user['id'])
    },
  )

  it('can have no password until the address is proved', async () => {
    const { token } = await aStrangersAccount()
    expectError(await put(server, '/user', { password: STRANGERS }, { token }), 422, 'email_not_confirmed')
  })

  it('keeps what it has when its own confirmation is used', async () => {
    const email = anEmail()
    site.github(anId(), { email, verified: false })
    const { fragment } = await signInWith(server, 'github')
    const { token } = await mailTo(server, email)
    const { body } = await verify({ type: 'signup', token_hash: token })
    expect(identitiesOf(body['user'] as Json)).toEqual(['github'])
    const refresh = { refresh_token: fragment['refresh_token'] }
    expect((await post(server, '/token?grant_type=refresh_token', refresh)).status).toBe(200)
  })

  it('does not take the address along when its owner proves a phone', async () => {
    const { email, token } = await aStrangersAccount()
    const phone = aPhone()
    await put(server, '/user', { phone }, { token })
    const proved = await verify({ type: 'phone_change', phone, token: gateway.codeFor(phone) })
    expect(proved.body['user']).toMatchObject({ phone, email: '' })
    const { token: own } = await secretsOf(email, () =>
      signUp({ email }, EARLIER['the same person'] as Earlier),
    )
    const { body } = await verify({ type: 'signup', token_hash: own })
    expect((body['user'] as Json)['id']).not.toBe((proved.body['user'] as Json)['id'])
  })
})

describe('an address that a stranger only claims', () => {
  it('is no obstacle for who proves it', async () => {
    const [email, own] = [anEmail(), anEmail()]
    await secretsOf(email, () => signUp({ email }, EARLIER['a stranger'] as Earlier))
    const { token } = await secretsOf(own, () =>
      signUp({ email: own }, EARLIER['the same person'] as Earlier),
    )
    const { body } = await verify({ type: 'signup', token_hash: token })
    const session = { token: String(body['access_token']) }
    const change = await secretsOf(email, () => put(server, '/user', { email }, session))
    const current = server.inbox
      .messages({ to: own })
      .at(-1)
      ?.links.find((link) => link.includes('token='))
    await verify({
      type: 'email_change',
      token_hash: new URL(current ?? '').searchParams.get('token'),
    })
    const changed = await verify({ type: 'email_change', token_hash: change.token })
    expect(changed.body['user']).toMatchObject({ id: (body['user'] as Json)['id'], email })
    expect((await signIn({ email }, PASSWORD)).status).toBe(200)
    expectError(await signIn({ email }, STRANGERS), 400, 'invalid_credentials')
  })

  it('goes to one of many who prove it at once', async () => {
    const [email, phone] = [anEmail(), aPhone()]
    await signUp({ phone }, EARLIER['a stranger'] as Earlier)
    const codes: string[] = []
    for (let n = 0; n < 3; n += 1) {
      const own = `${n}${email}`
      const { token } = await secretsOf(own, () =>
        signUp({ email: own }, EARLIER['the same person'] as Earlier),
      )
      const { body } = await verify({ type: 'signup', token_hash: token })
      await put(server, '/user', { phone }, { token: String(body['access_token']) })
      codes.push(gateway.codeFor(phone))
    }
    const answers = await Promise.all(codes.map((token) => verify({ type: 'phone_change', phone, token })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422])
  })
})

describe('a token', () => {
  it('of a link is none for a phone, whose number it would confirm', async () => {
    const [email, phone] = [anEmail(), aPhone()]
    await post(server, '/admin/users', { email, phone }, admin)
    const { token } = await secretsOf(email, () => post(server, '/resend', { type: 'signup', email }))
    expectError(await verify({ type: 'sms', token }), 403, 'otp_expired')
    expectError(await verify({ type: 'phone_change', token }), 403, 'otp_expired')
    const { body } = await verify({ type: 'signup', token })
    expect(body['user']).not.toHaveProperty('phone_confirmed_at')
    expect(body['user']).toMatchObject({ email_confirmed_at: expect.any(String) as unknown })
  })

  it('of an address that is not the account’s any more confirms nothing', async () => {
    const [email, other] = [anEmail(), anEmail()]
    const { token } = await secretsOf(email, () => signUp({ email }, EARLIER['a stranger'] as Earlier))
    const { id } = await userRow({ email })
    await put(server, `/admin/users/${String(id)}`, { email: other }, admin)
    expectError(await verify({ type: 'signup', token_hash: token }), 403, 'otp_expired')
    const { token: fresh } = await secretsOf(other, () =>
      post(server, '/resend', { type: 'signup', email: other }),
    )
    expect((await verify({ type: 'signup', token_hash: fresh })).status).toBe(200)
    expectError(await signIn({ email: other }, STRANGERS), 400, 'invalid_credentials')
  })

  it('of an invitation survives the sign-up of a stranger', async () => {
    const email = anEmail()
    const { token } = await secretsOf(email, () =>
      post(server, '/invite', { email, data: { team: 'a' } }, admin),
    )
    await secretsOf(email, () => signUp({ email }, EARLIER['a stranger'] as Earlier))
    const { status, body } = await verify({ type: 'invite', token_hash: token })
    expect(status).toBe(200)
    expect((body['user'] as Json)['user_metadata']).toEqual({ team: 'a', email_verified: true })
    expectError(await signIn({ email }, STRANGERS), 400, 'invalid_credentials')
  })
})

describe('wrong codes', () => {
  const wrongFor = (code: unknown) => (code === '000000' ? '000001' : '000000')
  const guess = async (body: Json, code: unknown, times: number) => {
    for (let attempt = 0; attempt < times; attempt += 1)
      expectError(await post(server, '/verify', { ...body, token: wrongFor(code) }), 403, 'otp_expired')
  }

  it('count against the person: another code buys no further guesses, and the link works all the same', async () => {
    const email = anEmail()
    await signUp({ email }, EARLIER['the same person'] as Earlier)
    await guess({ type: 'signup', email }, null, 6)
    const { code, token } = await secretsOf(email, () => post(server, '/resend', { type: 'signup', email }))
    await guess({ type: 'signup', email }, code, 4)
    expectError(await verify({ type: 'signup', email, token: code }), 403, 'otp_expired')
    expect((await verify({ type: 'signup', token_hash: token })).status).toBe(200)
  })

  it('count for a window only', async () => {
    const email = anEmail()
    await signUp({ email }, EARLIER['the same person'] as Earlier)
    const { code } = await mailTo(server, email)
    await guess({ type: 'signup', email }, code, 10)
    expectError(await verify({ type: 'signup', email, token: code }), 403, 'otp_expired')
    server.clock.advance(3_600_000)
    expect((await verify({ type: 'signup', email, token: code })).status).toBe(200)
  })

  it('count by SMS, too', async () => {
    const phone = aPhone()
    await signUp({ phone }, EARLIER['the same person'] as Earlier)
    await guess({ type: 'sms', phone }, gateway.codeFor(phone), 10)
    await post(server, '/otp', { phone })
    expectError(await verify({ type: 'sms', phone, token: gateway.codeFor(phone) }), 403, 'otp_expired')
  })

  it('are counted before they are looked at, so that many at once get no further', async () => {
    const email = anEmail()
    await signUp({ email }, EARLIER['the same person'] as Earlier)
    const { code } = await mailTo(server, email)
    const guesses = Array.from({ length: 30 }, () =>
      post(server, '/verify', { type: 'signup', email, token: wrongFor(code) }),
    )
    await Promise.all(guesses)
    const { rows } = await server.context.db.query<{ attempts: number }>(
      'select attempts from code_attempts order by attempts desc limit 1',
    )
    expect(rows[0]?.attempts).toBe(30)
    expectError(await verify({ type: 'signup', email, token: code }), 403, 'otp_expired')
  })
})

describe('what an administrator says', () => {
  it('counts however the address is proved: a password that was given beforehand', async () => {
    const email = anEmail()
    await post(server, '/admin/users', { email, password: PASSWORD, user_metadata: { a: 1 } }, admin)
    expectError(await signIn({ email }, PASSWORD), 400, 'email_not_confirmed')
    await secretsOf(email, () => signUp({ email }, EARLIER['a stranger'] as Earlier))
    const user = await EMAIL_PROOFS['a magic link']?.(email)
    expect(user?.['user_metadata']).toMatchObject({ a: 1 })
    expect((await signIn({ email }, PASSWORD)).status).toBe(200)
    expectError(await signIn({ email }, STRANGERS), 400, 'invalid_credentials')
  })

  it.each(['/invite', '/admin/generate_link'])(
    '%s stores exactly the given data, and merges it again',
    async (path) => {
      const email = anEmail()
      const say = (data: Json) =>
        post(server, path, { type: 'signup', email, password: PASSWORD, data }, admin)
      const claims = {
        sub: 'x',
        email: 'x',
        email_verified: true,
        phone: '1',
        phone_verified: true,
        iss: 'x',
      }
      expect((await say({ status: 'alpha', ...claims })).body['user_metadata']).toEqual({ status: 'alpha' })
      const again = await say({ plan: 'pro' })
      expect(again.body['user_metadata']).toEqual({ status: 'alpha', plan: 'pro' })
      expect((await say({ status: null })).body['user_metadata']).toEqual({ plan: 'pro' })
    },
  )

  it('claims are not data: nobody sets them about themselves', async () => {
    const email = anEmail()
    const { token } = await secretsOf(email, () => signUp({ email }, EARLIER['the same person'] as Earlier))
    const { body } = await verify({ type: 'signup', token_hash: token })
    const before = (body['user'] as Json)['user_metadata']
    const data = {
      sub: anId(),
      email: 'x@y.zz',
      phone: '1',
      phone_verified: true,
      email_verified: null,
      a: 1,
    }
    const changed = await put(server, '/user', { data }, { token: String(body['access_token']) })
    expect(changed.body['user_metadata']).toEqual({ ...(before as Json), a: 1 })
  })
})

describe('a first message that cannot be sent leaves no user behind', () => {
  it('by SMS', async () => {
    for (const path of ['/signup', '/otp']) {
      const phone = aPhone()
      gateway.refuse(true)
      expect((await post(server, path, { phone, password: PASSWORD })).status).toBe(200)
      gateway.refuse(false)
      expect(await userRow({ phone })).toEqual({})
    }
  })

  it('by email, for sign-ups and invitations', async () => {
    for (const [path, options] of [
      ['/signup', {}],
      ['/otp', {}],
      ['/invite', admin],
    ] as const) {
      const email = anEmail()
      server.inbox.fail({ at: 'recipient', to: (address) => address === email })
      expect((await post(server, path, { email, password: PASSWORD }, options)).status).toBe(200)
      server.inbox.fail(null)
      expect(await userRow({ email })).toEqual({})
    }
  })

  it('but a later one leaves the earlier sign-up alone', async () => {
    const email = anEmail()
    const { token } = await secretsOf(email, () => signUp({ email }, EARLIER['the same person'] as Earlier))
    server.inbox.fail({ at: 'recipient', to: (address) => address === email })
    await signUp({ email }, EARLIER['a stranger'] as Earlier)
    server.inbox.fail(null)
    expect((await verify({ type: 'signup', token_hash: token })).status).toBe(200)
    expect((await signIn({ email }, PASSWORD)).status).toBe(200)
  })
})
