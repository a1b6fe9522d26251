import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import {
  anEmail,
  aUser,
  call,
  expectError,
  get,
  PASSWORD,
  post,
  put,
  type Json,
  type Session,
} from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { FACTOR_ENVIRONMENT, factorSteps, methodsOf } from './support/factors.js'
import { anAuthenticator, PASSKEY_ENVIRONMENT, passkeySteps } from './support/passkeys.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer({ ...FACTOR_ENVIRONMENT, ...PASSKEY_ENVIRONMENT })
})
afterAll(() => server.close())
const { enroll, raise, signIn, refresh, unenroll } = factorSteps(() => server)
const { register, signIn: signInWithPasskey } = passkeySteps(() => server)

describe('DELETE /factors/{id}', () => {
  it('requires aal2 for a verified factor, but not for an unverified one', async () => {
    const user = await aUser(server)
    const begun = await enroll(user, { friendly_name: 'begun' })
    const answer = await unenroll(user, begun.id)
    expect([answer.status, answer.body]).toEqual([200, { id: begun.id }])
    const factor = await enroll(user)
    await raise(user, factor)
    expectError(await unenroll(await signIn(user), factor.id), 422, 'insufficient_aal')
  })

  it('lowers the sessions that used it to aal1 on their next refresh', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const session = await raise(user, factor)
    const other = await raise(await signIn(user), factor)
    expect((await unenroll(session, factor.id)).status).toBe(200)
    for (const { refresh_token: token } of [session, other]) {
      const refreshed = await refresh(token)
      expect(decodeJwt(refreshed.body['access_token'] as string)).toMatchObject({ aal: 'aal1' })
      expect(methodsOf(refreshed.body['access_token'] as string)).toEqual(['password'])
      expect((refreshed.body['user'] as Json)['factors']).toBeUndefined()
    }
    await server.inbox.waitForMail({
      to: user.email,
      subject: 'A verification method was removed from your account.',
    })
  })
})

describe('a session opened by a passkey', () => {
  it.each([
    [true, 'aal2'],
    [false, 'aal1'],
  ])('that verified its user (%s) is %s once a factor shown in it is removed', async (userVerified, aal) => {
    const user = await aUser(server)
    const authenticator = anAuthenticator({ userVerified })
    await register(user, authenticator)
    const factor = await enroll(user)
    const strong = await raise(user, factor)
    const session = await signInWithPasskey(authenticator)
    const { refresh_token: token } = await raise(session, factor)
    expect((await unenroll(strong, factor.id)).status).toBe(200)
    const { access_token: jwt } = (await refresh(token)).body as Session
    expect(decodeJwt(jwt)).toMatchObject({ aal })
    expect(methodsOf(jwt)).toEqual(['passkey'])
  })

  it.each([
    [true, 'aal2'],
    [false, 'aal1'],
  ])(
    'that verified its user (%s) is %s once a recovery code used in it is void',
    async (userVerified, aal) => {
      const user = await aUser(server)
      const authenticator = anAuthenticator({ userVerified })
      await register(user, authenticator)
      const factor = await enroll(user)
      const strong = await raise(user, factor)
      const { body } = await post(server, '/recovery-codes', {}, { token: strong.access_token })
      const [code] = body['codes'] as string[]
      const session = await signInWithPasskey(authenticator)
      await post(server, '/recovery-codes/verify', { code }, { token: session.access_token })
      // A factor that is shown after the code does not change what the session owes to its passkey.
      const { refresh_token: token, access_token: before } = await raise(session, factor)
      expect(methodsOf(before)).toEqual(['totp', 'mfa/recovery_code', 'passkey'])
      expect((await unenroll(strong, factor.id)).status).toBe(200)
      const { access_token: jwt } = (await refresh(token)).body as Session
      expect(decodeJwt(jwt)).toMatchObject({ aal })
      expect(methodsOf(jwt)).toEqual(['passkey'])
    },
  )
})

describe('factors of users, for administrators', () => {
  let admin: Session
  const asAdmin = () => ({ token: admin.access_token })
  beforeAll(async () => {
    const user = await aUser(server)
    await server.context.db.query(`update users set role = 'service_role' where id = $1`, [user.user.id])
    admin = await signIn(user)
  })

  it('renames a factor, and refuses a name that is taken, but not by an unfinished one', async () => {
    const user = await aUser(server)
    const taken = await raise(user, await enroll(user, { friendly_name: 'taken' }))
    const factor = await enroll(taken, { friendly_name: 'old' })
    await enroll(taken, { friendly_name: 'new' })
    const path = `/admin/users/${user.user.id}/factors/${factor.id}`
    const renamed = await put(server, path, { friendly_name: 'new' }, asAdmin())
    expect(renamed.status).toBe(200)
    expect(renamed.body).toMatchObject({
      id: factor.id,
      friendly_name: 'new',
      factor_type: 'totp',
      phone: '',
    })
    expect((await put(server, path, { friendly_name: 'new' }, asAdmin())).status).toBe(200)
    expectError(
      await put(server, path, { friendly_name: 'taken' }, asAdmin()),
      422,
      'mfa_factor_name_conflict',
    )
    expectError(await put(server, path, { phone: '4915112345678' }, asAdmin()), 400, 'validation_failed')
    const list = await get(server, `/admin/users/${user.user.id}/factors`, asAdmin())
    expect((list.body as unknown as Json[]).map(({ friendly_name: name }) => name).sort()).toEqual([
      'new',
      'taken',
    ])
  })

  it('refuses a name that is longer than its owner could give', async () => {
    const user = await aUser(server)
    const { id } = await enroll(user)
    const rename = (length: number) =>
      put(
        server,
        `/admin/users/${user.user.id}/factors/${id}`,
        { friendly_name: 'x'.repeat(length) },
        asAdmin(),
      )
    expect((await rename(255)).status).toBe(200)
    expectError(await rename(256), 400, 'validation_failed', /friendly_name must not be longer than 255/)
  })

  it('removes and returns a factor, and lowers the sessions that used it', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const session = await raise(user, factor)
    const path = `/admin/users/${user.user.id}/factors/${factor.id}`
    const removed = await call(server, 'DELETE', path, asAdmin())
    expect(removed.status).toBe(200)
    expect(removed.body).toMatchObject({ id: factor.id, status: 'verified' })
    const refreshed = await refresh(session.refresh_token)
    expect(decodeJwt(refreshed.body['access_token'] as string)).toMatchObject({ aal: 'aal1' })
    expectError(await call(server, 'DELETE', path, asAdmin()), 404, 'mfa_factor_not_found')
  })

  it('does not find factors of other users or malformed ids', async () => {
    const [user, other] = [await aUser(server), await aUser(server)]
    const factor = await enroll(other)
    const path = (userId: string, factorId: string) => `/admin/users/${userId}/factors/${factorId}`
    const remove = (userId: string, factorId: string) =>
      call(server, 'DELETE', path(userId, factorId), asAdmin())
    expectError(await remove(user.user.id, factor.id), 404, 'mfa_factor_not_found')
    expectError(await remove(randomUUID(), factor.id), 404, 'user_not_found')
    expectError(await remove('x', factor.id), 404, 'validation_failed')
    expectError(await remove(user.user.id, 'x'), 404, 'validation_failed')
    const asUser = { token: user.access_token }
    expectError(await call(server, 'DELETE', path(user.user.id, factor.id), asUser), 403, 'not_admin')
    expectError(await call(server, 'DELETE', path(user.user.id, factor.id)), 401, 'no_authorization')
  })
})

describe('factor types that are switched off', () => {
  let off: TestServer
  beforeAll(async () => {
    off = await startServer({
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_MFA_TOTP_ENROLL_ENABLED: 'false',
      AUTH_MFA_TOTP_VERIFY_ENABLED: 'false',
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
    })
  })
  afterAll(() => off.close())

  it('cannot be enrolled, challenged or verified, only removed', async () => {
    const user = (await post(off, '/signup', { email: anEmail(), password: PASSWORD })).body as Session
    const options = { token: user.access_token }
    expectError(
      await post(off, '/factors', { factor_type: 'totp' }, options),
      422,
      'mfa_totp_enroll_not_enabled',
    )
    expectError(
      await post(off, '/factors', { factor_type: 'phone', phone: '4915112345678' }, options),
      422,
      'mfa_phone_enroll_not_enabled',
    )
    for (const type of ['totp', 'phone']) {
      const id = randomUUID()
      await off.context.db.query(
        `insert into mfa_factors (id, user_id, friendly_name, factor_type, status, created_at, updated_at)
         values ($1, $2, $4, $4, 'unverified', $3, $3)`,
        [id, user.user.id, off.clock.now(), type],
      )
      const code = `mfa_${type}_verify_not_enabled`
      expectError(await post(off, `/factors/${id}/challenge`, {}, options), 422, code)
      const body = { challenge_id: randomUUID(), code: '123456' }
      expectError(await post(off, `/factors/${id}/verify`, body, options), 422, code)
      expect((await call(off, 'DELETE', `/factors/${id}`, options)).status).toBe(200)
    }
  })
})
