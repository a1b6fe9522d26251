import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { AuthApiError, AuthSessionMissingError, AuthWeakPasswordError } from '@supabase/auth-js'
import { anEmail, mailTo, PASSWORD } from '../support/api.js'
import { SITE, type TestServer } from '../support/server.js'
import { aClient, aSignedInClient, follow, memoryStorage, ok, startClientServer } from './support.js'

describe('the published client signs up and in', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startClientServer({ AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true' })
  })
  afterAll(() => server.close())

  it('with email and password, after the link of the email', async () => {
    const client = aClient(server)
    const email = anEmail()
    const signedUp = await ok(
      client.signUp({
        email,
        password: PASSWORD,
        options: { data: { plan: 'pro' }, emailRedirectTo: `${SITE}/hi` },
      }),
    )
    expect(signedUp.session).toBeNull()
    expect(signedUp.user).toMatchObject({ email, user_metadata: { plan: 'pro' } })
    const early = await client.signInWithPassword({ email, password: PASSWORD })
    expect(early.error).toMatchObject({ code: 'email_not_confirmed', status: 400 })

    const { link } = await mailTo(server, email)
    const landed = await follow(server, link)
    expect(landed.pathname).toBe('/hi')
    const fragment = new URLSearchParams(landed.hash.slice(1))
    const set = await ok(
      client.setSession({
        access_token: fragment.get('access_token') ?? '',
        refresh_token: fragment.get('refresh_token') ?? '',
      }),
    )
    expect(set.user).toMatchObject({ email, email_confirmed_at: expect.any(String) as unknown })
    const again = await ok(client.signInWithPassword({ email, password: PASSWORD }))
    expect(again.session).toMatchObject({ token_type: 'bearer', expires_in: 3600 })
    expect((await ok(client.getUser())).user.id).toBe(signedUp.user?.id)
  })

  it('and reads errors of the versioned form', async () => {
    const client = aClient(server)
    const wrong = await client.signInWithPassword({ email: anEmail(), password: 'wrong' })
    expect(wrong.error).toBeInstanceOf(AuthApiError)
    expect(wrong.error).toMatchObject({ code: 'invalid_credentials', status: 400 })
    const weak = await client.signUp({ email: anEmail(), password: '123' })
    expect(weak.error).toBeInstanceOf(AuthWeakPasswordError)
    expect(weak.error).toMatchObject({ reasons: ['length'] })
    const none = await aClient(server).getUser()
    expect(none.error).toBeInstanceOf(AuthSessionMissingError)
  })

  it('with a code by email', async () => {
    const { email, user } = await aSignedInClient(server)
    const client = aClient(server)
    await ok(client.signInWithOtp({ email, options: { shouldCreateUser: false } }))
    const { code } = await mailTo(server, email, server.inbox.messages({ to: email })[0])
    const { session } = await ok(client.verifyOtp({ type: 'email', email, token: code ?? '' }))
    expect(session?.user.id).toBe(user.id)
  })

  it('with a magic link, and with the token_hash of one', async () => {
    const { email, user } = await aSignedInClient(server)
    const client = aClient(server)
    await ok(client.signInWithOtp({ email }))
    const first = await mailTo(server, email, server.inbox.messages({ to: email })[0])
    expect((await follow(server, first.link)).hash).toContain('type=magiclink')
    await ok(client.signInWithOtp({ email }))
    const second = await mailTo(server, email, first.mail)
    const { session } = await ok(client.verifyOtp({ type: 'magiclink', token_hash: second.token ?? '' }))
    expect(session?.user.id).toBe(user.id)
  })

  it('does not sign up with shouldCreateUser false, and does by default', async () => {
    const client = aClient(server)
    const unknown = await client.signInWithOtp({ email: anEmail(), options: { shouldCreateUser: false } })
    expect(unknown.error).toMatchObject({ code: 'otp_disabled', status: 422 })
    const email = anEmail()
    await ok(client.signInWithOtp({ email, options: { data: { from: 'otp' } } }))
    const { code } = await mailTo(server, email)
    const { user } = await ok(client.verifyOtp({ type: 'email', email, token: code ?? '' }))
    expect(user).toMatchObject({ email, user_metadata: { from: 'otp' } })
  })

  it('sends a confirmation again', async () => {
    const client = aClient(server)
    const email = anEmail()
    await ok(client.signUp({ email, password: PASSWORD }))
    const first = await mailTo(server, email)
    await ok(client.resend({ type: 'signup', email }))
    const { code } = await mailTo(server, email, first.mail)
    await ok(client.verifyOtp({ type: 'signup', email, token: code ?? '' }))
  })

  it('anonymously, and becomes permanent', async () => {
    const client = aClient(server)
    const anonymous = await ok(client.signInAnonymously({ options: { data: { cart: 1 } } }))
    expect(anonymous.user).toMatchObject({ is_anonymous: true, user_metadata: { cart: 1 } })
    const email = anEmail()
    await ok(client.updateUser({ email }))
    const { code } = await mailTo(server, email)
    const permanent = await ok(client.verifyOtp({ type: 'email_change', email, token: code ?? '' }))
    expect(permanent.user).toMatchObject({ id: anonymous.user?.id, email, is_anonymous: false })
    await ok(client.updateUser({ password: PASSWORD }))
    await ok(aClient(server).signInWithPassword({ email, password: PASSWORD }))
  })

  it('refreshes, also in several tabs at once, and stays signed in in all of them', async () => {
    const { session } = await aSignedInClient(server)
    const tabs = Array.from({ length: 5 }, () => aClient(server, { storage: memoryStorage() }))
    const refreshed = await Promise.all(
      tabs.map((tab) => ok(tab.refreshSession({ refresh_token: session.refresh_token }))),
    )
    expect(new Set(refreshed.map((tab) => tab.session?.refresh_token)).size).toBe(1)
    for (const tab of tabs) expect((await ok(tab.getUser())).user.id).toBe(session.user.id)
    await ok(tabs[0]?.refreshSession() ?? Promise.reject(new Error('no tab')))
  })

  it.each([
    ['local', { own: false, other: true }],
    ['others', { own: true, other: false }],
    ['global', { own: false, other: false }],
  ] as const)('signs out with scope %s, which leaves %j', async (scope, { own, other }) => {
    const { client, email, session } = await aSignedInClient(server)
    const elsewhere = aClient(server)
    await ok(elsewhere.signInWithPassword({ email, password: PASSWORD }))
    expect((await client.signOut({ scope })).error).toBeNull()
    expect((await client.getSession()).data.session !== null).toBe(own)
    const { refresh_token: ownToken } = session
    expect((await aClient(server).refreshSession({ refresh_token: ownToken })).error === null).toBe(own)
    expect((await elsewhere.refreshSession()).error === null).toBe(other)
  })

  it('drops the session when the server has ended it', async () => {
    const { client, session } = await aSignedInClient(server)
    await server.context.db.query('delete from sessions where user_id = $1', [session.user.id])
    const answer = await client.getUser()
    expect(answer.error).toBeInstanceOf(AuthSessionMissingError)
  })
})

describe('the published client under PKCE (6)', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startClientServer()
  })
  afterAll(() => server.close())

  it('exchanges the code of a confirmation link, once', async () => {
    const client = aClient(server, { flowType: 'pkce' })
    const email = anEmail()
    await ok(
      client.signUp({ email, password: PASSWORD, options: { emailRedirectTo: `${SITE}/hi?sb_flow_id=42` } }),
    )
    const { link, token } = await mailTo(server, email)
    expect(token).toMatch(/^pkce_[0-9a-f]{56}$/)
    const landed = await follow(server, link)
    expect(landed.searchParams.get('sb_flow_id')).toBe('42')
    expect(landed.hash).toBe('')
    const code = landed.searchParams.get('code') ?? ''
    const { session } = await ok(client.exchangeCodeForSession(code))
    expect(session.user.email).toBe(email)
    const replay = await client.exchangeCodeForSession(code)
    expect(replay.error).not.toBeNull()
  })

  it('recovers an account with a link that ends in a code', async () => {
    const { email } = await aSignedInClient(server)
    const client = aClient(server, { flowType: 'pkce' })
    await ok(client.resetPasswordForEmail(email, { redirectTo: `${SITE}/reset` }))
    const mail = await server.inbox.waitForMail({ to: email, subject: 'Reset your password' })
    const landed = await follow(server, mail.links[0])
    const { session } = await ok(client.exchangeCodeForSession(landed.searchParams.get('code') ?? ''))
    expect(session.user.email).toBe(email)
    await ok(client.updateUser({ password: 'a new horse battery' }))
    await ok(aClient(server).signInWithPassword({ email, password: 'a new horse battery' }))
  })

  it('signs in with a magic link, and a code typed in gives a session at once', async () => {
    const { email } = await aSignedInClient(server)
    const client = aClient(server, { flowType: 'pkce' })
    await ok(client.signInWithOtp({ email, options: { emailRedirectTo: `${SITE}/in` } }))
    const first = await server.inbox.waitForMail({ to: email, subject: 'Your sign-in link' })
    const landed = await follow(server, first.links[0])
    await ok(client.exchangeCodeForSession(landed.searchParams.get('code') ?? ''))
    await ok(client.signInWithOtp({ email }))
    const second = await mailTo(server, email, first)
    const { session } = await ok(client.verifyOtp({ type: 'email', email, token: second.code ?? '' }))
    expect(session?.user.email).toBe(email)
  })
})
