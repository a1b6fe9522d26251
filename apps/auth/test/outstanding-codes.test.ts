import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { lockWaiters } from '@signet/testkit'
import {
  anEmail,
  aUser,
  call,
  expectError,
  get,
  mailTo,
  PASSWORD,
  post,
  put,
  type Json,
  type SignedUp,
} from './support/api.js'
import { signInWith } from './support/fake-provider.js'
import { factorSteps } from './support/factors.js'
import { anId, startProviderSite } from './support/provider-site.js'
import { NO_EMAIL_GAPS, startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer({ ...NO_EMAIL_GAPS, AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '0' })
})
afterAll(() => server.close())

const NEW_PASSWORD = 'another correct horse'

const linkTo = async ({ email }: SignedUp, path: '/magiclink' | '/recover', request: object = {}) => {
  const after = server.inbox.messages({ to: email }).at(-1)
  await post(server, path, { email, ...request })
  return String((await mailTo(server, email, after)).token)
}
const follow = async (token: string) =>
  new URL((await get(server, `/verify?type=recovery&token=${token}`)).headers.get('location') ?? '')
/** The authorization code that a flow leaves in the address bar of a browser, and its verifier. */
const aCode = async (user: SignedUp) => {
  const verifier = randomBytes(32).toString('hex')
  const request = { code_challenge: createHash('sha256').update(verifier).digest('base64url') }
  const token = await linkTo(user, '/magiclink', { ...request, code_challenge_method: 's256' })
  return { auth_code: (await follow(token)).searchParams.get('code'), code_verifier: verifier }
}
const exchange = (code: object) => post(server, '/token?grant_type=pkce', code)
const administer = async (user: SignedUp, body: object) => {
  const answer = await put(server, `/admin/users/${user.user.id}`, body, {
    token: serviceToken(),
    versioned: true,
  })
  expect(answer.status).toBe(200)
}
const signOut = (scope: string) => async (user: SignedUp) => {
  const answer = await post(server, `/logout?scope=${scope}`, undefined, { token: user.access_token })
  expect(answer.status).toBe(204)
}
const changePassword = async ({ access_token: token }: SignedUp) => {
  expect((await put(server, '/user', { password: NEW_PASSWORD }, { token })).status).toBe(200)
}
/** Both links end in codes, so neither opens a session. */
const changeAddress = async ({ email, access_token: token }: SignedUp) => {
  const before = server.inbox.messages({ to: email }).at(-1)
  const [address, code_challenge] = [anEmail(), 'c'.repeat(43)]
  const body = { email: address, code_challenge, code_challenge_method: 's256' }
  expect((await put(server, '/user', body, { token })).status).toBe(200)
  const sent = [await mailTo(server, address), await mailTo(server, email, before)]
  for (const { token: link } of sent) await get(server, `/verify?type=email_change&token=${String(link)}`)
  expect((await get(server, '/user', { token })).body).toMatchObject({ email: address })
}

describe('a code that has yet to be exchanged', () => {
  it.each<[string, (user: SignedUp) => Promise<unknown>]>([
    ['the user signed out everywhere', signOut('global')],
    ['the user signed out everywhere else', signOut('others')],
    ['the user changed the password', changePassword],
    ['an administrator set a password', (user) => administer(user, { password: NEW_PASSWORD })],
    [
      'a ban was lifted',
      async (user) => {
        await administer(user, { ban_duration: '1h' })
        await administer(user, { ban_duration: 'none' })
      },
    ],
    ['an administrator entered another address', (user) => administer(user, { email: anEmail() })],
    ['the user proved another address in a flow of its own', changeAddress],
  ])('opens no session once %s', async (_, end) => {
    const user = await aUser(server)
    const code = await aCode(user)
    await end(user)
    expectError(await exchange(code), 404, 'flow_state_not_found')
  })

  it('opens no session once another link of the same person was used', async () => {
    const user = await aUser(server)
    const code = await aCode(user)
    const last = server.inbox.messages({ to: user.email }).at(-1)
    await post(server, '/recover', { email: user.email })
    const { token } = await mailTo(server, user.email, last)
    expect((await post(server, '/verify', { type: 'recovery', token })).status).toBe(200)
    expectError(await exchange(code), 404, 'flow_state_not_found')
  })

  it('opens no session once the code of another link of the same person was exchanged', async () => {
    const user = await aUser(server)
    const [one, other] = [await aCode(user), await aCode(user)]
    expect((await exchange(one)).status).toBe(200)
    expectError(await exchange(other), 404, 'flow_state_not_found')
  })

  it('of a sign-in through a provider survives a code that the same person types elsewhere', async () => {
    const site = await startProviderSite(NO_EMAIL_GAPS)
    try {
      const email = anEmail()
      site.github(anId(), { email })
      await signInWith(site.server, 'github')
      const verifier = randomBytes(32).toString('hex')
      const challenge = createHash('sha256').update(verifier).digest('base64url')
      const { query } = await signInWith(site.server, 'github', {
        code_challenge: challenge,
        code_challenge_method: 's256',
      })
      await post(site.server, '/otp', { email })
      const { code } = await mailTo(site.server, email)
      const typed = await post(site.server, '/verify', { type: 'email', email, token: code })
      expect(typed.status).toBe(200)
      const held = { auth_code: query['code'], code_verifier: verifier }
      expect((await post(site.server, '/token?grant_type=pkce', held)).status).toBe(200)
    } finally {
      await site.close()
    }
  })

  it('of a sign-in through a provider opens no session once that sign-in method was removed', async () => {
    const site = await startProviderSite({ ...NO_EMAIL_GAPS, AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true' })
    try {
      const { email, access_token: token } = await aUser(site.server)
      site.github(anId(), { email })
      await signInWith(site.server, 'github')
      const challenge = { code_challenge: 'v'.repeat(43), code_challenge_method: 'plain' }
      const { query } = await signInWith(site.server, 'github', challenge)
      const identities = (await get(site.server, '/user', { token })).body['identities'] as Json[]
      const linked = identities.find(({ provider }) => provider === 'github')
      const path = `/user/identities/${String(linked?.['identity_id'])}`
      expect((await call(site.server, 'DELETE', path, { token })).status).toBe(200)
      const held = { auth_code: query['code'], code_verifier: 'v'.repeat(43) }
      expectError(await post(site.server, '/token?grant_type=pkce', held), 404, 'flow_state_not_found')
    } finally {
      await site.close()
    }
  })

  it('opens no session when the password changes during its exchange', async () => {
    const user = await aUser(server)
    const code = await aCode(user)
    const late = await server.context.db.transaction(async (tx) => {
      await tx.query('select 1 from users where id = $1 for update', [user.user.id])
      const change = changePassword(user)
      const exchanged = exchange(code)
      await lockWaiters(server.context.db, 2)
      return { change, exchanged }
    })
    await late.change
    const answer = await late.exchanged
    // Whichever request came first, no session from before the change is left, and neither request waited forever for the other.
    expect([200, 404]).toContain(answer.status)
    const refreshed = await post(server, '/token?grant_type=refresh_token', {
      refresh_token: String(answer.body['refresh_token']),
    })
    expect(refreshed.status).toBe(400)
  })

  it('stays valid when a single session ends, and for other users', async () => {
    const [user, other] = [await aUser(server), await aUser(server)]
    const code = await aCode(user)
    await signOut('local')(user)
    await signOut('global')(other)
    expect((await exchange(code)).status).toBe(200)
  })
})

describe('a code that a provider without proof of the address has led to', () => {
  it('opens no session once the owner has proven the address', async () => {
    const site = await startProviderSite({ AUTH_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS: 'true' })
    try {
      const email = anEmail()
      site.github(anId(), { email, verified: false })
      const verifier = randomBytes(32).toString('hex')
      const challenge = { code_challenge: verifier, code_challenge_method: 'plain' }
      const { query } = await signInWith(site.server, 'github', challenge)
      expect(query['code']).toBeDefined()
      const [sentBefore] = site.server.inbox.messages({ to: email }).slice(-1)
      await post(site.server, '/magiclink', { email })
      const proof = { type: 'email', token_hash: (await mailTo(site.server, email, sentBefore)).token }
      expect((await post(site.server, '/verify', proof, { versioned: true })).status).toBe(200)
      const stolen = { auth_code: query['code'], code_verifier: verifier }
      expectError(await post(site.server, '/token?grant_type=pkce', stolen), 404, 'flow_state_not_found')
    } finally {
      await site.close()
    }
  })
})

describe('an unused link in a mailbox', () => {
  it('is spent by a password that an administrator sets', async () => {
    const user = await aUser(server)
    const token = await linkTo(user, '/recover')
    await administer(user, { password: NEW_PASSWORD })
    expect((await follow(token)).hash).toContain('otp_expired')
    const signIn = (password: string) =>
      post(server, '/token?grant_type=password', { email: user.email, password })
    expect((await signIn(NEW_PASSWORD)).status).toBe(200)
    expectError(await signIn(PASSWORD), 400, 'invalid_credentials')
  })
})

describe('a change of address that has yet to be confirmed', () => {
  let oneLink: TestServer
  beforeAll(async () => {
    oneLink = await startServer({ ...NO_EMAIL_GAPS, AUTH_MAILER_SECURE_EMAIL_CHANGE_ENABLED: 'false' })
  })
  afterAll(() => oneLink.close())
  const { enroll, raise, signIn } = factorSteps(() => oneLink)
  const logout = (scope: string) => async (token: string) =>
    void (await post(oneLink, `/logout?scope=${scope}`, undefined, { token }))

  /** Requests a change to the thief's own address with a stolen session. */
  const steal = async (token: string) => {
    const email = anEmail()
    expect((await put(oneLink, '/user', { email }, { token })).status).toBe(200)
    return { type: 'email_change', token_hash: (await mailTo(oneLink, email)).token }
  }

  const refresh = (token: unknown) =>
    post(oneLink, '/token?grant_type=refresh_token', { refresh_token: token })
  /** Two parties hold the tokens of one session, and the slower one uses an old one. */
  const reuse = async (_: string, { refresh_token: first }: SignedUp) => {
    await refresh((await refresh(first)).body['refresh_token'])
    expectError(await refresh(first), 400, 'refresh_token_already_used')
  }

  it.each<[string, (token: string, owner: SignedUp) => Promise<unknown>]>([
    ['signed out everywhere', logout('global')],
    ['signed out everywhere else', logout('others')],
    ['used a refresh token that the thief had used', reuse],
    [
      'proved a first second factor',
      async (token) => raise({ access_token: token }, await enroll({ access_token: token })),
    ],
  ])('is void once the owner has %s', async (_, end) => {
    const owner = await aUser(oneLink)
    const proof = await steal(owner.access_token)
    const { access_token: token } = await signIn(owner)
    await end(token, owner)
    expectError(await post(oneLink, '/verify', proof), 403, 'otp_expired')
    const { body } = await get(oneLink, '/user', { token })
    expect(body).toMatchObject({ email: owner.email })
    expect(body).not.toHaveProperty('new_email')
  })

  it('survives a sign-out of one device', async () => {
    const owner = await aUser(oneLink)
    const proof = await steal(owner.access_token)
    await logout('local')((await signIn(owner)).access_token)
    expect((await post(oneLink, '/verify', proof)).status).toBe(200)
  })

  it('survives the sign-out of an anonymous user, who has no other way back in', async () => {
    const site = await startServer({ ...NO_EMAIL_GAPS, AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true' })
    try {
      const token = String((await post(site, '/signup', {})).body['access_token'])
      const email = anEmail()
      await put(site, '/user', { email }, { token })
      await post(site, '/logout', undefined, { token })
      const proof = { type: 'email_change', token_hash: (await mailTo(site, email)).token }
      expect((await post(site, '/verify', proof)).status).toBe(200)
    } finally {
      await site.close()
    }
  })
})
