import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, mailTo, PASSWORD, post, put, type ApiAnswer } from './support/api.js'
import { FORWARDED, from, many, tokenPath, tried } from './support/guessing.js'
import { signInWith } from './support/fake-provider.js'
import { anId, startProviderSite, type ProviderSite } from './support/provider-site.js'
import { NO_EMAIL_GAPS, startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const HOME = '192.0.2.1'
/** More networks than an account keeps. */
const MANY = 14
const KEPT = 8
const FREE_GUESSES = 5

/** Networks that no other test uses. */
let used = 0
const networks = (count: number) =>
  Array.from({ length: count }, () => `2001:db8:0:${(used += 1).toString(16)}::1`)

describe('networks that an account has signed in from', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ ...FORWARDED, ...NO_EMAIL_GAPS })
  })
  afterAll(() => server.close())

  const signIn = (email: string, password: string, network: string) =>
    post(server, tokenPath, { email, password }, from(network))
  /** Someone who has signed in at home, and someone else who knows the password and signed in at many networks. */
  const aLeakedAccount = async () => {
    const email = anEmail()
    await post(server, '/signup', { email, password: PASSWORD }, from(HOME))
    const { token } = await mailTo(server, email)
    expect((await post(server, '/verify', { type: 'signup', token }, from(HOME))).status).toBe(200)
    const thiefs = networks(MANY)
    for (const network of thiefs) {
      server.clock.advance(1000)
      expect((await signIn(email, PASSWORD, network)).status).toBe(200)
    }
    return { email, thiefs }
  }
  const guessFrom = async (email: string, where: readonly string[]): Promise<ApiAnswer[]> => {
    const answers = await Promise.all(
      where.map((network) => many(FREE_GUESSES, () => signIn(email, 'wrong password', network))),
    )
    return answers.flat()
  }
  const recover = async (email: string, network: string) => {
    const [last] = server.inbox.messages({ to: email }).slice(-1)
    await post(server, '/recover', { email }, from(network))
    const { token } = await mailTo(server, email, last)
    const { body } = await post(server, '/verify', { type: 'recovery', token }, from(network))
    return String(body['access_token'])
  }

  it('have guesses of their own only if they are among the last few', async () => {
    const { email, thiefs } = await aLeakedAccount()
    expect(tried(await guessFrom(email, thiefs))).toBe(FREE_GUESSES * (KEPT + 1))
  })

  it('are strangers after a new password, but for that of the session that set it', async () => {
    const { email, thiefs } = await aLeakedAccount()
    const token = await recover(email, HOME)
    expect(
      (await put(server, '/user', { password: 'a new one of the owner' }, { ...from(HOME), token })).status,
    ).toBe(200)
    expect(tried(await guessFrom(email, thiefs))).toBe(FREE_GUESSES)
    expect((await signIn(email, 'a new one of the owner', HOME)).status).toBe(200)
  })

  it('are strangers after an administrator set a password', async () => {
    const { email, thiefs } = await aLeakedAccount()
    const { body } = await signIn(email, PASSWORD, HOME)
    const { id } = body['user'] as { id: string }
    const answer = await put(
      server,
      `/admin/users/${id}`,
      { password: 'from the administrator' },
      { token: serviceToken(), versioned: true },
    )
    expect(answer.status).toBe(200)
    expect(tried(await guessFrom(email, thiefs))).toBe(FREE_GUESSES)
  })

  it('are strangers after the owner ended all other sessions', async () => {
    const { email, thiefs } = await aLeakedAccount()
    const { body } = await signIn(email, PASSWORD, HOME)
    const session = { ...from(HOME), token: String(body['access_token']) }
    expect((await post(server, '/logout?scope=others', {}, session)).status).toBe(204)
    expect(tried(await guessFrom(email, thiefs))).toBe(FREE_GUESSES)
  })

  it('stay known after an ordinary sign-out', async () => {
    const { email } = await aLeakedAccount()
    const { body } = await signIn(email, PASSWORD, HOME)
    await post(server, '/logout', {}, { ...from(HOME), token: String(body['access_token']) })
    await guessFrom(email, networks(3))
    expect((await signIn(email, PASSWORD, HOME)).status).toBe(200)
  })

  it('have no guesses at codes either once the password is new', async () => {
    const { email, thiefs } = await aLeakedAccount()
    const token = await recover(email, HOME)
    await put(server, '/user', { password: 'a new one of the owner' }, { ...from(HOME), token })
    const [last] = server.inbox.messages({ to: email }).slice(-1)
    await post(server, '/otp', { email }, from(networks(1)[0] ?? ''))
    const { code = '' } = await mailTo(server, email, last)
    const guess = (network: string, text: string) =>
      post(server, '/verify', { type: 'email', email, token: text }, from(network))
    for (const network of thiefs.slice(0, 4)) await many(9, (n) => guess(network, `${n}`.repeat(7)))
    expect((await guess(thiefs[5] ?? '', code)).status).toBe(403)
  })
})

describe('the network of a sign-in with an address that nobody proved', () => {
  let site: ProviderSite
  beforeAll(async () => {
    site = await startProviderSite({
      ...FORWARDED,
      ...NO_EMAIL_GAPS,
      AUTH_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS: 'true',
    })
  })
  afterAll(() => site.close())

  it('has no guesses of its own', async () => {
    const email = anEmail()
    site.github(anId(), { email, verified: false })
    // Without the header, this request comes from the address of this machine.
    expect((await signInWith(site.server, 'github')).fragment['access_token']).toBeDefined()
    const [owners = '', strangers = ''] = networks(2)
    const [last] = site.server.inbox.messages({ to: email }).slice(-1)
    await post(site.server, '/otp', { email }, from(owners))
    const { code = '' } = await mailTo(site.server, email, last)
    const type = (token: string, options?: ReturnType<typeof from>) =>
      post(site.server, '/verify', { type: 'email', email, token }, options)
    await many(12, (n) => type(`${n}`.repeat(7), from(strangers)))
    expect((await type(code)).status).toBe(403)
    expect((await type(code, from(owners))).status).toBe(200)
  })
})
