import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { holdsInSomeRun, waitFor } from '@signet/testkit'
import { median } from '@signet/testkit/bench'
import {
  anEmail,
  aPhone,
  aUser,
  call,
  expectError,
  mailTo,
  PASSWORD,
  post,
  put,
  type ApiAnswer,
  type SignedUp,
} from './support/api.js'
import { NO_EMAIL_GAPS, startServer, type TestServer } from './support/server.js'
import { startSmsServer } from './support/sms-gateway.js'
import { serviceToken } from './support/tokens.js'
import { createPasswordHasher, type PasswordHasher } from '../src/passwords/password-hasher.js'

describe('what strangers learn about accounts', () => {
  let server: TestServer
  let hasher: PasswordHasher
  /** How many hashes each job of the hashing threads compared. */
  let compared: number[] = []
  beforeAll(async () => {
    hasher = createPasswordHasher({ cost: 4, threads: 1 })
    const firstMatch: PasswordHasher['firstMatch'] = (hashes, ...job) => {
      compared.push(hashes.length)
      return hasher.firstMatch(hashes, ...job)
    }
    server = await startServer({}, { hasher: { ...hasher, firstMatch } })
  })
  afterAll(async () => {
    await server.close()
    await hasher.close()
  })
  const signIn = (email: string, password: string) =>
    post(server, '/token?grant_type=password', { email, password })

  it('one body for an unknown user, a user without a password and a wrong password', async () => {
    const user = await aUser(server)
    const invited = anEmail()
    await post(server, '/invite', { email: invited }, { token: serviceToken() })
    const answers = [
      await signIn(anEmail(), 'wrong password'),
      await signIn(invited, 'wrong password'),
      await signIn(user.email, 'wrong password'),
    ]
    for (const answer of answers) expectError(answer, 400, 'invalid_credentials')
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  })

  it('about the same time for all three', async () => {
    // Hashes at the real cost, because the test compares how long that takes.
    const real = createPasswordHasher({ threads: 1 })
    const server = await startServer({}, { hasher: real })
    const timeOf = async (email: string) => {
      const startedAt = performance.now()
      await post(server, '/token?grant_type=password', { email, password: 'wrong password' })
      return performance.now() - startedAt
    }
    try {
      const user = await aUser(server)
      await holdsInSomeRun(async () => {
        const [known, unknown]: [number[], number[]] = [[], []]
        // Alternates between the two, so that a busy machine slows both alike.
        for (let round = 0; round < 7; round += 1) {
          known.push(await timeOf(user.email))
          unknown.push(await timeOf(anEmail()))
        }
        const ratio = median(unknown) / median(known)
        expect(ratio).toBeGreaterThan(0.6)
        expect(ratio).toBeLessThan(1.6)
      })
    } finally {
      await server.close()
      await real.close()
    }
  })

  it('the same work for all three, also where somebody signed up with the address and has not confirmed it', async () => {
    const [known, signedUpToo] = [(await aUser(server)).email, (await aUser(server)).email]
    const [unknown, unconfirmed, invited] = [anEmail(), anEmail(), anEmail()]
    await post(server, '/invite', { email: invited }, { token: serviceToken() })
    server.clock.advance(900_000)
    for (const email of [signedUpToo, unconfirmed])
      await post(server, '/signup', { email, password: PASSWORD })
    for (const email of [known, signedUpToo, unknown, unconfirmed, invited]) {
      compared = []
      expectError(await signIn(email, 'wrong password'), 400, 'invalid_credentials')
      expect({ email, compared }).toEqual({ email, compared: [2] })
    }
  })

  it('nothing about confirmation or a ban without the correct password', async () => {
    const unconfirmed = anEmail()
    await post(server, '/signup', { email: unconfirmed, password: PASSWORD })
    expectError(await signIn(unconfirmed, 'wrong password'), 400, 'invalid_credentials')
    expectError(await signIn(unconfirmed, PASSWORD), 400, 'email_not_confirmed')
    const banned = await aUser(server)
    await server.context.db.query("update users set banned_until = 'infinity' where id = $1", [
      banned.user.id,
    ])
    expectError(await signIn(banned.email, 'wrong password'), 400, 'invalid_credentials')
    expectError(await signIn(banned.email, PASSWORD), 400, 'user_banned')
  })

  it('nothing from signing in with the password of a sign-up, whether or not the address has an account', async () => {
    const [known, unknown, invited] = [(await aUser(server)).email, anEmail(), anEmail()]
    await post(server, '/invite', { email: invited }, { token: serviceToken() })
    server.clock.advance(3_600_000)
    const mine = 'the password of a stranger'
    const answers = []
    for (const email of [known, unknown, invited]) {
      await post(server, '/signup', { email, password: mine })
      answers.push(await signIn(email, mine), await signIn(email, 'another password'))
    }
    for (const answer of answers.filter((_, n) => n % 2 === 0))
      expectError(answer, 400, 'email_not_confirmed')
    for (const answer of answers.filter((_, n) => n % 2 === 1))
      expectError(answer, 400, 'invalid_credentials')
    expect(new Set(answers.map(({ text }) => text)).size).toBe(2)
    // None of this affects the owner, and neither does a sign-up with the right password.
    expect((await signIn(known, PASSWORD)).status).toBe(200)
    server.clock.advance(3_600_000)
    await post(server, '/signup', { email: known, password: PASSWORD })
    expect((await signIn(known, PASSWORD)).status).toBe(200)
  })

  describe('from the password of a sign-up, however long it is tried and whatever the owner of an account does:', () => {
    const mine = 'the password of a stranger'
    /** Keeps unconfirmed sign-ups for 30 days. */
    let retaining: TestServer
    beforeAll(async () => {
      retaining = await startServer({
        ...NO_EMAIL_GAPS,
        AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '0',
        AUTH_UNCONFIRMED_USER_RETENTION: '720h',
      })
    })
    afterAll(() => retaining.close())
    const attempt = async (email: string) =>
      (await post(retaining, '/token?grant_type=password', { email, password: mine })).text
    const follow = async (email: string, send: () => Promise<ApiAnswer>) => {
      const before = retaining.inbox.messages({ to: email }).at(-1)
      expect((await send()).status).toBe(200)
      const { token } = await mailTo(retaining, email, before)
      const answer = await post(retaining, '/verify', { type: 'email', token_hash: token })
      expect(answer.status).toBe(200)
      return answer
    }

    it.each<[string, (user: SignedUp) => Promise<{ status: number }>]>([
      [
        'signs in',
        ({ email }) => post(retaining, '/token?grant_type=password', { email, password: PASSWORD }),
      ],
      [
        'refreshes',
        ({ refresh_token }) => post(retaining, '/token?grant_type=refresh_token', { refresh_token }),
      ],
      [
        'follows a sign-in link',
        ({ email }) => follow(email, () => post(retaining, '/magiclink', { email })),
      ],
      [
        'recovers and chooses a password',
        async ({ email }) => {
          const before = retaining.inbox.messages({ to: email }).at(-1)
          await post(retaining, '/recover', { email })
          const { token: link } = await mailTo(retaining, email, before)
          const { body } = await post(retaining, '/verify', { type: 'recovery', token: link })
          return put(retaining, '/user', { password: 'another one' }, { token: String(body['access_token']) })
        },
      ],
      [
        'gets another address',
        ({ user }) =>
          put(
            retaining,
            `/admin/users/${user.id}`,
            { email: anEmail(), email_confirm: true },
            { token: serviceToken() },
          ),
      ],
      [
        'is deleted',
        ({ user }) => call(retaining, 'DELETE', `/admin/users/${user.id}`, { token: serviceToken() }),
      ],
    ])('one who %s', async (_, act) => {
      const [user, unknown] = [await aUser(retaining), anEmail()]
      for (const email of [user.email, unknown]) await post(retaining, '/signup', { email, password: mine })
      const first = await attempt(unknown)
      expect(first).toContain('email_not_confirmed')
      expect(await attempt(user.email)).toBe(first)
      expect((await act(user)).status).toBe(200)
      expect(await attempt(user.email)).toBe(first)
      retaining.clock.advance(719 * 3_600_000)
      await retaining.context.cleanup.run()
      expect([await attempt(user.email), await attempt(unknown)]).toEqual([first, first])
      retaining.clock.advance(2 * 3_600_000)
      await retaining.context.cleanup.run()
      const last = await attempt(unknown)
      expect(last).toContain('invalid_credentials')
      expect(await attempt(user.email)).toBe(last)
    })

    it('nor which address an account has now', async () => {
      const [user, next] = [await aUser(retaining), anEmail()]
      await post(retaining, '/signup', { email: user.email, password: mine })
      const change = { email: next, email_confirm: true }
      await put(retaining, `/admin/users/${user.user.id}`, change, { token: serviceToken() })
      expect(await attempt(next)).toContain('invalid_credentials')
    })
  })

  it('that a new account was made, once its owner proves the address in another way', async () => {
    const email = anEmail()
    const mine = 'the password of a stranger'
    await post(server, '/signup', { email, password: mine })
    const before = server.inbox.messages({ to: email }).at(-1)
    await post(server, '/magiclink', { email })
    const { code } = await mailTo(server, email, before)
    expect((await post(server, '/verify', { type: 'email', email, token: code })).status).toBe(200)
    expectError(await signIn(email, mine), 400, 'invalid_credentials')
  })

  it('nothing about an account from an address whose mail server refuses every email', async () => {
    const [known, unknown] = [(await aUser(server)).email, anEmail()]
    server.clock.advance(3_600_000)
    server.inbox.fail({ at: 'recipient', code: 550 })
    const mine = 'the password of a stranger'
    try {
      for (const email of [known, unknown]) {
        await post(server, '/signup', { email, password: mine })
        await waitFor(async () => (await signIn(email, mine)).text.includes('invalid_credentials'))
      }
    } finally {
      server.inbox.fail(null)
    }
  })

  it('nothing about which number belongs to which address', async () => {
    const { server: phones } = await startSmsServer()
    try {
      const [email, phone] = [anEmail(), aPhone()]
      await post(
        phones,
        '/admin/users',
        { email, phone, password: PASSWORD, email_confirm: true, phone_confirm: true },
        { token: serviceToken() },
      )
      const mine = 'the password of a stranger'
      await post(phones, '/signup', { email, password: mine })
      expectError(
        await post(phones, '/token?grant_type=password', { phone, password: mine }),
        400,
        'invalid_credentials',
      )
      await post(phones, '/signup', { phone, password: mine })
      expectError(
        await post(phones, '/token?grant_type=password', { phone, password: mine }),
        400,
        'phone_not_confirmed',
      )
    } finally {
      await phones.close()
    }
  })

  it.each([
    ['phone', 'AUTH_MAILER_AUTOCONFIRM'],
    ['email', 'AUTH_SMS_AUTOCONFIRM'],
  ])('nothing from a sign-up by %s where %s counts only the other kind as proven', async (kind, setting) => {
    const { server: mixed } = await startSmsServer({ [setting]: 'true' })
    try {
      const anAddress = kind === 'phone' ? aPhone : anEmail
      const known = anAddress()
      const account = { [kind]: known, [`${kind}_confirm`]: true }
      expect((await post(mixed, '/admin/users', account, { token: serviceToken() })).status).toBe(200)
      for (const address of [known, anAddress()])
        expect((await post(mixed, '/signup', { [kind]: address, password: PASSWORD })).status).toBe(200)
    } finally {
      await mixed.close()
    }
  })

  it('nothing from a wrong or expired code, or one for an unknown address', async () => {
    const [waiting, late] = [anEmail(), anEmail()]
    await post(server, '/signup', { email: late, password: PASSWORD })
    const { code } = await mailTo(server, late)
    server.clock.advance(86_400_000)
    await post(server, '/signup', { email: waiting, password: PASSWORD })
    const verify = (email: string, token = '000000') =>
      post(server, '/verify', { type: 'signup', email, token })
    const answers = [await verify(waiting), await verify(late, code), await verify(anEmail())]
    for (const answer of answers) expectError(answer, 403, 'otp_expired', 'Token has expired or is invalid')
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  })
})
