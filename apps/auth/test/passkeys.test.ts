import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { anEmail, aUser, call, expectError, get, mailTo, post, put, UUID, type Json } from './support/api.js'
import { FACTOR_ENVIRONMENT, factorSteps, methodsOf } from './support/factors.js'
import { anAuthenticator, PASSKEY_ENVIRONMENT, passkeySteps } from './support/passkeys.js'
import { SITE, startServer, type TestServer } from './support/server.js'
import { claimsOf, serviceToken } from './support/tokens.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer({
    ...FACTOR_ENVIRONMENT,
    ...PASSKEY_ENVIRONMENT,
    AUTH_PASSKEY_MAX_PASSKEYS_PER_USER: '2',
    AUTH_MAILER_NOTIFICATIONS_IDENTITY_LINKED_ENABLED: 'true',
    AUTH_MAILER_NOTIFICATIONS_IDENTITY_UNLINKED_ENABLED: 'true',
  })
})
afterAll(() => server.close())
const { startRegistration, finishRegistration, register, startSignIn, trySignIn, signIn } = passkeySteps(
  () => server,
)
const { enroll, raise, signIn: signInWithPassword } = factorSteps(() => server)

const listOf = async ({ access_token: token }: { access_token: string }) =>
  JSON.parse((await get(server, '/passkeys', { token })).text) as Json[]
const remove = ({ access_token: token }: { access_token: string }, id: string) =>
  call(server, 'DELETE', `/passkeys/${id}`, { token })

describe('registering a passkey', () => {
  it('asks the browser for a discoverable key of the site, for a handle that names nobody', async () => {
    const user = await aUser(server, { data: { full_name: 'Ada Lovelace' } })
    const asked = await startRegistration(user)
    const { hostname } = new URL(SITE)
    expect(asked.options).toMatchObject({
      rp: { id: hostname, name: hostname },
      user: { name: user.email, displayName: 'Ada Lovelace' },
      authenticatorSelection: { residentKey: 'required', userVerification: 'preferred' },
      attestation: 'none',
      excludeCredentials: [],
    })
    expect(Buffer.from(asked.options.user.id, 'base64url').toString('hex')).toBe(
      user.user.id.replaceAll('-', ''),
    )
    expect(asked.expires_at).toBe(Math.floor(server.clock.now().getTime() / 1000) + 300)
  })

  it('names it, lists it, tells the owner, and is audited', async () => {
    const user = await aUser(server)
    const authenticator = anAuthenticator()
    const passkey = await register(user, authenticator)
    expect(await listOf(user)).toEqual([passkey])
    expect(passkey).toEqual({
      id: expect.any(String) as unknown,
      friendly_name: 'Passkey',
      created_at: server.clock.now().toISOString(),
    })
    const mail = await server.inbox.waitForMail({ to: user.email })
    expect(mail.text).toContain('a passkey')
    const entries = JSON.parse(
      (await get(server, '/admin/audit?query=action:passkey_created', { token: serviceToken() })).text,
    ) as { payload: Json }[]
    expect(entries.map(({ payload }) => payload)).toContainEqual(
      expect.objectContaining({ actor_id: user.user.id, traits: { passkey_id: passkey.id } }),
    )
  })

  it('excludes the keys that the account has, and stops at the limit', async () => {
    const user = await aUser(server)
    const authenticator = anAuthenticator()
    await register(user, authenticator)
    const asked = await startRegistration(user)
    expect((asked.options as unknown as { excludeCredentials: Json[] }).excludeCredentials).toEqual([
      { id: authenticator.get({ challenge: '' }).id, type: 'public-key', transports: ['internal'] },
    ])
    expect(await register(user, anAuthenticator())).toMatchObject({ friendly_name: 'Passkey 2' })
    expectError(
      await post(server, '/passkeys/registration/options', {}, { token: user.access_token }),
      422,
      'too_many_passkeys',
    )
  })

  it('keeps to the limit when registrations finish at the same time', async () => {
    const user = await aUser(server)
    const begun = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const asked = await startRegistration(user)
        return { asked, credential: anAuthenticator().create(asked.options) }
      }),
    )
    const answers = await Promise.all(
      begun.map(({ asked, credential }) => finishRegistration(user, asked, credential)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 422, 422, 422, 422])
    expect(await listOf(user)).toHaveLength(2)
  })

  it('needs the second factor once there is one, as every new sign-in method does', async () => {
    const user = await aUser(server)
    const strong = await raise(user, await enroll(user))
    const weak = await signInWithPassword(user)
    expectError(
      await post(server, '/passkeys/registration/options', {}, { token: weak.access_token }),
      401,
      'insufficient_aal',
    )
    const passkey = await register(strong, anAuthenticator())
    expectError(await remove(weak, passkey.id), 401, 'insufficient_aal')
    // Renaming needs the second factor too, because owners choose by name which passkey to remove.
    const rename = { token: weak.access_token, body: { friendly_name: 'Mine' } }
    expectError(await call(server, 'PATCH', `/passkeys/${passkey.id}`, rename), 401, 'insufficient_aal')
    expect((await listOf(strong))[0]).toMatchObject({ friendly_name: 'Passkey' })
  })

  it('is not for anonymous users', async () => {
    const { body } = await post(server, '/signup', {})
    expectError(
      await post(server, '/passkeys/registration/options', {}, { token: body['access_token'] as string }),
      403,
      'no_authorization',
    )
  })
})

describe('signing in with a passkey', () => {
  it('is aal2 where the authenticator verified its user, and aal1 where it did not', async () => {
    for (const [userVerified, aal] of [
      [true, 'aal2'],
      [false, 'aal1'],
    ] as const) {
      const user = await aUser(server)
      const authenticator = anAuthenticator({ userVerified })
      await register(user, authenticator)
      const session = await signIn(authenticator)
      expect(session.user.id).toBe(user.user.id)
      expect(decodeJwt(session.access_token)).toMatchObject({ sub: user.user.id, aal })
      expect(methodsOf(session.access_token)).toEqual(['passkey'])
      const refreshed = await post(server, '/token?grant_type=refresh_token', {
        refresh_token: session.refresh_token,
      })
      expect(decodeJwt(refreshed.body['access_token'] as string)).toMatchObject({ aal })
    }
  })

  it('asks everybody the same, naming no key', async () => {
    const { options } = await startSignIn()
    expect(options).toEqual({
      rpId: new URL(SITE).hostname,
      challenge: expect.any(String) as unknown,
      allowCredentials: [],
      timeout: 300_000,
      userVerification: 'preferred',
    })
  })

  it('stands for the second factor of an account that has one', async () => {
    const user = await aUser(server)
    const strong = await raise(user, await enroll(user))
    const authenticator = anAuthenticator()
    await register(strong, authenticator)
    const session = await signIn(authenticator)
    const changed = await call(server, 'PUT', '/user', {
      token: session.access_token,
      body: { password: 'another horse battery' },
    })
    expect(changed.status).toBe(200)
  })

  it('notes when it was used, and is audited', async () => {
    const user = await aUser(server)
    const authenticator = anAuthenticator()
    const passkey = await register(user, authenticator)
    server.clock.advance(60_000)
    const session = await signIn(authenticator)
    expect(await listOf(session)).toEqual([{ ...passkey, last_used_at: server.clock.now().toISOString() }])
    const entries = JSON.parse(
      (await get(server, '/admin/audit?query=action:login', { token: serviceToken() })).text,
    ) as { payload: Json }[]
    expect(entries.map(({ payload }) => payload)).toContainEqual(
      expect.objectContaining({
        actor_id: user.user.id,
        traits: { provider: 'passkey', passkey_id: passkey.id },
      }),
    )
  })

  it('is refused to a banned user, and tells nobody else that there is one', async () => {
    const user = await aUser(server)
    const authenticator = anAuthenticator()
    await register(user, authenticator)
    await call(server, 'PUT', `/admin/users/${user.user.id}`, {
      token: serviceToken(),
      body: { ban_duration: '1h' },
    })
    expectError(await trySignIn(authenticator), 403, 'user_banned')
    expectError(await trySignIn(authenticator, { challenge: 'AAAA' }), 400, 'webauthn_verification_failed')
  })

  it('is over once the account is gone, softly or not', async () => {
    for (const should_soft_delete of [true, false]) {
      const user = await aUser(server)
      const authenticator = anAuthenticator()
      await register(user, authenticator)
      await call(server, 'DELETE', `/admin/users/${user.user.id}`, {
        token: serviceToken(),
        body: { should_soft_delete },
      })
      expectError(await trySignIn(authenticator), 400, 'webauthn_verification_failed')
      const { rows } = await server.context.db.query(
        'select 1 from webauthn_credentials where user_id = $1',
        [user.user.id],
      )
      expect(rows).toEqual([])
    }
  })
})

describe('the passkeys of an account', () => {
  it('get names of up to 120 characters', async () => {
    const user = await aUser(server)
    const { id } = await register(user, anAuthenticator())
    const rename = (friendly_name: string, passkeyId = id) =>
      call(server, 'PATCH', `/passkeys/${passkeyId}`, { token: user.access_token, body: { friendly_name } })
    expect((await rename('  the blue key ')).body).toMatchObject({ id, friendly_name: 'the blue key' })
    expect((await rename('my\u202e key\u200b\n')).body).toMatchObject({ friendly_name: 'my key' })
    expectError(await rename('\u202e \u200b'), 400, 'validation_failed')
    expect((await rename('the blue key')).status).toBe(200)
    expectError(await rename(' '), 400, 'validation_failed')
    expectError(await rename('x'.repeat(121)), 400, 'validation_failed')
    expectError(await rename('x', UUID), 404, 'passkey_not_found')
    expectError(await rename('x', 'none'), 404, 'passkey_not_found')
    expect(await listOf(user)).toMatchObject([{ id, friendly_name: 'the blue key' }])
  })

  it('belong to their owner alone', async () => {
    const owner = await aUser(server)
    const stranger = await aUser(server)
    const { id } = await register(owner, anAuthenticator())
    expect(await listOf(stranger)).toEqual([])
    expectError(await remove(stranger, id), 404, 'passkey_not_found')
    expectError(
      await call(server, 'PATCH', `/passkeys/${id}`, {
        token: stranger.access_token,
        body: { friendly_name: 'mine' },
      }),
      404,
      'passkey_not_found',
    )
    expect(await listOf(owner)).toHaveLength(1)
  })

  it('sign in no more once deleted; the sessions they opened end, but for the one that deletes', async () => {
    const user = await aUser(server)
    const authenticator = anAuthenticator()
    const { id } = await register(user, authenticator)
    const lost = await signIn(authenticator)
    const here = await signIn(authenticator)
    expect((await remove(here, id)).status).toBe(204)
    expectError(await trySignIn(authenticator), 400, 'webauthn_verification_failed')
    expectError(await get(server, '/passkeys', { token: lost.access_token }), 403, 'session_not_found')
    expectError(
      await post(server, '/token?grant_type=refresh_token', { refresh_token: lost.refresh_token }),
      400,
      'refresh_token_not_found',
    )
    for (const { access_token: token } of [here, user])
      expect((await get(server, '/passkeys', { token })).status).toBe(200)
  })

  it('leave the applications of the sign-in that deletes them signed in', async () => {
    const authenticator = anAuthenticator()
    const { id } = await register(await aUser(server), authenticator)
    const [here, application] = [await signIn(authenticator), await signIn(authenticator)]
    const sessionOf = ({ access_token: token }: { access_token: string }) => claimsOf(token)['session_id']
    await server.context.db.query(
      'update sessions set sign_in_id = (select coalesce(sign_in_id, id) from sessions where id = $1) where id = $2',
      [sessionOf(here), sessionOf(application)],
    )
    expect((await remove(here, id)).status).toBe(204)
    const { refresh_token } = application
    expect((await post(server, '/token?grant_type=refresh_token', { refresh_token })).status).toBe(200)
  })

  it('take along, once deleted, the change of address that a session of theirs began', async () => {
    const user = await aUser(server)
    const authenticator = anAuthenticator()
    const { id } = await register(user, authenticator)
    const [lost, here] = [await signIn(authenticator), await signIn(authenticator)]
    const email = anEmail()
    expect((await put(server, '/user', { email }, { token: lost.access_token })).status).toBe(200)
    expect((await remove(here, id)).status).toBe(204)
    const proof = { type: 'email_change', token_hash: (await mailTo(server, email)).token }
    expectError(await post(server, '/verify', proof), 403, 'otp_expired')
  })

  it('are listed and deleted by administrators too, which ends every session they opened', async () => {
    const user = await aUser(server)
    const authenticator = anAuthenticator()
    const passkey = await register(user, authenticator)
    const session = await signIn(authenticator)
    const path = `/admin/users/${user.user.id}/passkeys`
    const token = serviceToken()
    const listed = JSON.parse((await get(server, path, { token })).text) as Json[]
    expect(listed).toMatchObject([{ id: passkey.id }])
    expect((await call(server, 'DELETE', `${path}/${passkey.id}`, { token })).status).toBe(204)
    expectError(await call(server, 'DELETE', `${path}/${passkey.id}`, { token }), 404, 'passkey_not_found')
    expectError(await get(server, '/passkeys', { token: session.access_token }), 403, 'session_not_found')
    expectError(await get(server, `/admin/users/${UUID}/passkeys`, { token }), 404, 'user_not_found')
    expectError(await get(server, path, { token: user.access_token }), 403, 'not_admin')
  })
})
