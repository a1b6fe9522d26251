import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, mailTo, PASSWORD } from '../support/api.js'
import { SITE, type TestServer } from '../support/server.js'
import { aClient, anAdmin, aSignedInClient, follow, ok, startClientServer } from './support.js'

describe('the published client changes an account', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startClientServer()
  })
  afterAll(() => server.close())

  it('recovers a password', async () => {
    const { email } = await aSignedInClient(server)
    const client = aClient(server)
    await ok(client.resetPasswordForEmail(email, { redirectTo: `${SITE}/reset` }))
    const mail = await server.inbox.waitForMail({ to: email, subject: 'Reset your password' })
    const token = new URL(mail.links[0] ?? '').searchParams.get('token') ?? ''
    await ok(client.verifyOtp({ type: 'recovery', token_hash: token }))
    await ok(client.updateUser({ password: 'a new horse battery' }))
    await ok(aClient(server).signInWithPassword({ email, password: 'a new horse battery' }))
  })

  it('changes the email address after both addresses have confirmed', async () => {
    const { client, email, user } = await aSignedInClient(server)
    const newEmail = anEmail()
    const pending = await ok(client.updateUser({ email: newEmail }, { emailRedirectTo: `${SITE}/changed` }))
    expect(pending.user.new_email).toBe(newEmail)
    const current = await server.inbox.waitForMail({ to: email, subject: 'Confirm your new email address' })
    const fresh = await mailTo(server, newEmail)
    const first = await follow(server, current.links[0])
    expect(new URLSearchParams(first.hash.slice(1)).get('message')).toMatch(/other email/)
    const second = await follow(server, fresh.link)
    expect(second.hash).toContain('type=email_change')
    await ok(client.refreshSession())
    expect((await ok(client.getUser())).user).toMatchObject({ id: user.id, email: newEmail })
  })

  it('changes metadata, and sees the identities', async () => {
    const { client, user } = await aSignedInClient(server)
    const changed = await ok(client.updateUser({ data: { a: { b: 1 } } }))
    expect(changed.user.user_metadata).toMatchObject({ a: { b: 1 } })
    const { identities } = await ok(client.getUserIdentities())
    expect(identities).toMatchObject([{ provider: 'email', id: user.id, user_id: user.id }])
  })

  it('reauthenticates', async () => {
    const strict = await startClientServer({ AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true' })
    try {
      const { client, email } = await aSignedInClient(strict)
      const refused = await client.updateUser({ password: 'a new horse battery' })
      expect(refused.error).toMatchObject({ code: 'reauthentication_needed' })
      expect((await client.reauthenticate()).error).toBeNull()
      const mail = await strict.inbox.waitForMail({ to: email, subject: /verification code/ })
      const nonce = /\d{6}/.exec(mail.subject)?.[0] ?? ''
      await ok(client.updateUser({ password: 'a new horse battery', nonce }))
    } finally {
      await strict.close()
    }
  })

  it('hears that SSO is not there', async () => {
    const client = aClient(server)
    const sso = await client.signInWithSSO({ domain: 'example.com' })
    expect(sso.error).toMatchObject({
      code: 'saml_provider_disabled',
      message: 'SAML 2.0 is disabled',
      status: 404,
    })
  })
})

describe('the published client reads claims (3)', () => {
  const jwks = (alg: 'ES256' | 'EdDSA') => {
    const { privateKey } =
      alg === 'ES256' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('ed25519')
    return JSON.stringify([
      { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), key_ops: ['sign', 'verify'] },
    ])
  }

  it.each(['RS256', 'ES256'] as const)(
    'verifies %s with the published keys, without asking the server',
    async (alg) => {
      const server = await startClientServer(
        alg === 'RS256' ? { AUTH_JWT_SIGNING_ALGORITHM: alg } : { AUTH_JWT_KEYS: jwks(alg) },
      )
      try {
        const { client, session } = await aSignedInClient(server)
        const requests = server.lines.length
        const { claims, header } = await ok(client.getClaims(session.access_token))
        expect(header).toMatchObject({ alg, typ: 'JWT' })
        expect(claims).toMatchObject({
          sub: session.user.id,
          role: 'authenticated',
          aal: 'aal1',
          aud: 'authenticated',
        })
        const paths = server.lines.slice(requests).map(({ path }) => path)
        expect(paths).toEqual(['/.well-known/jwks.json'])
      } finally {
        await server.close()
      }
    },
  )

  it('asks the server for HS256', async () => {
    const server = await startClientServer({ AUTH_JWT_SIGNING_ALGORITHM: 'HS256' })
    try {
      const { client, session } = await aSignedInClient(server)
      const { claims } = await ok(client.getClaims(session.access_token))
      expect(claims.sub).toBe(session.user.id)
    } finally {
      await server.close()
    }
  })
})

describe('the published admin client', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startClientServer()
  })
  afterAll(() => server.close())

  it('creates, reads, lists, changes and deletes users', async () => {
    const admin = anAdmin(server)
    const email = anEmail()
    const { user } = await ok(
      admin.createUser({
        email,
        password: PASSWORD,
        email_confirm: true,
        user_metadata: { a: 1 },
        app_metadata: { tier: 'gold' },
      }),
    )
    expect(user).toMatchObject({
      email,
      user_metadata: { a: 1 },
      app_metadata: { provider: 'email', providers: ['email'], tier: 'gold' },
    })
    await ok(aClient(server).signInWithPassword({ email, password: PASSWORD }))
    expect((await ok(admin.getUserById(user.id))).user.email).toBe(email)
    const changed = await ok(
      admin.updateUserById(user.id, { password: 'a new horse battery', ban_duration: 'none' }),
    )
    expect(changed.user.id).toBe(user.id)
    await ok(aClient(server).signInWithPassword({ email, password: 'a new horse battery' }))
    await ok(admin.deleteUser(user.id))
    expect((await admin.getUserById(user.id)).error).toMatchObject({ code: 'user_not_found', status: 404 })
  })

  it('pages through users', async () => {
    const admin = anAdmin(server)
    for (let index = 0; index < 7; index += 1) await ok(admin.createUser({ email: anEmail() }))
    const first = await admin.listUsers({ page: 1, perPage: 3 })
    expect(first.error).toBeNull()
    expect(first.data).toMatchObject({ nextPage: 2, total: expect.any(Number) as unknown })
    expect(first.data.users).toHaveLength(3)
    if (!('lastPage' in first.data)) throw new Error('no paging')
    const last = await admin.listUsers({ page: first.data.lastPage, perPage: 3 })
    expect(last.data).toMatchObject({ nextPage: null })
    expect((await admin.listUsers()).error).toBeNull()
  })

  it('invites, and makes links of all kinds that work', async () => {
    const admin = anAdmin(server)
    const invited = anEmail()
    const { user } = await ok(
      admin.inviteUserByEmail(invited, { redirectTo: `${SITE}/welcome`, data: { a: 1 } }),
    )
    expect(user).toMatchObject({ email: invited, invited_at: expect.any(String) as unknown })
    const { link } = await mailTo(server, invited)
    expect((await follow(server, link)).hash).toContain('type=invite')

    const email = anEmail()
    const signUp = await ok(admin.generateLink({ type: 'signup', email, password: PASSWORD }))
    const client = aClient(server)
    await ok(client.verifyOtp({ type: 'signup', token_hash: signUp.properties?.hashed_token ?? '' }))
    for (const type of ['magiclink', 'recovery'] as const) {
      const { properties } = await ok(
        admin.generateLink({ type, email, options: { redirectTo: `${SITE}/x` } }),
      )
      expect(properties).toMatchObject({ verification_type: type, redirect_to: `${SITE}/x` })
      expect((await follow(server, properties?.action_link)).pathname).toBe('/x')
    }
    const newEmail = anEmail()
    const current = await ok(admin.generateLink({ type: 'email_change_current', email, newEmail }))
    const fresh = await ok(admin.generateLink({ type: 'email_change_new', email, newEmail }))
    await follow(server, current.properties?.action_link)
    expect((await follow(server, fresh.properties?.action_link)).hash).toContain('type=email_change')
    expect((await ok(admin.getUserById(signUp.user?.id ?? ''))).user.email).toBe(newEmail)
    expect(server.inbox.messages({ to: email })).toHaveLength(0)
  })

  it.each([
    ['local', { own: false, other: true }],
    ['others', { own: true, other: false }],
    ['global', { own: false, other: false }],
  ] as const)('signs users out with scope %s, which leaves %j', async (scope, { own, other }) => {
    const admin = anAdmin(server)
    const { client, email, session } = await aSignedInClient(server)
    const elsewhere = aClient(server)
    await ok(elsewhere.signInWithPassword({ email, password: PASSWORD }))
    expect((await admin.signOut(session.access_token, scope)).error).toBeNull()
    expect((await client.refreshSession()).error === null).toBe(own)
    expect((await elsewhere.refreshSession()).error === null).toBe(other)
  })

  it('is refused with a user token or a missing user', async () => {
    const { session } = await aSignedInClient(server)
    const admin = anAdmin(server)
    expect((await admin.getUserById(randomUUID())).error).toMatchObject({ status: 404 })
    const answer = await fetch(`${server.url}/admin/users`, {
      headers: { Authorization: `Bearer ${session.access_token}` },
    })
    expect(answer.status).toBe(403)
  })
})
