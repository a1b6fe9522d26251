import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  anEmail,
  aPhone,
  aUser,
  call,
  expectError,
  get,
  PASSWORD,
  post,
  put,
  type CallOptions,
  type Json,
} from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const admin: CallOptions = { token: serviceToken() }

const versioned: CallOptions = { ...admin, versioned: true }

describe('PUT /admin/users/{id}', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    })
  })
  afterAll(() => server.close())
  const update = (id: string, body: Json, options = admin) => put(server, `/admin/users/${id}`, body, options)

  it('treats an empty body as no change, and refuses metadata too large for a token', async () => {
    const { user } = await aUser(server)
    const unchanged = await put(server, `/admin/users/${user.id}`, undefined, admin)
    expect([unchanged.status, unchanged.body['id']]).toEqual([200, user.id])
    const app_metadata = { notes: 'x'.repeat(9000) }
    expectError(await update(user.id, { app_metadata }), 400, 'validation_failed')
    const body = { email: anEmail(), app_metadata }
    expectError(await post(server, '/admin/users', body, admin), 400, 'validation_failed')
  })

  it('merges metadata, deletes null members and changes the role', async () => {
    const { user } = await aUser(server, { data: { a: 1 } })
    const { body } = await update(user.id, {
      role: 'editor',
      user_metadata: { a: null, b: 2 },
      app_metadata: { tier: 'gold' },
    })
    expect(body).toMatchObject({ role: 'editor', app_metadata: { provider: 'email', tier: 'gold' } })
    expect(body['user_metadata']).toMatchObject({ b: 2 })
    expect(body['user_metadata']).not.toHaveProperty('a')
  })

  it('changes addresses at once, with their identities', async () => {
    const { user } = await aUser(server)
    const [email, phone] = [anEmail(), aPhone()]
    const { body } = await update(user.id, { email, phone, email_confirm: true })
    expect(body).toMatchObject({
      email,
      phone,
      identities: [
        { provider: 'email', email, identity_data: { email, email_verified: true } },
        { provider: 'phone', identity_data: { phone, phone_verified: false } },
      ],
    })
    const other = await aUser(server)
    expectError(await update(other.user.id, { email }), 422, 'email_exists')
    expectError(await update(other.user.id, { phone }), 422, 'phone_exists')
  })

  it('confirms with true, and does not unconfirm with false', async () => {
    const { body } = await post(server, '/admin/users', { email: anEmail() }, admin)
    const id = String(body['id'])
    expect((await update(id, { email_confirm: false })).body).not.toHaveProperty('email_confirmed_at')
    expect((await update(id, { email_confirm: true })).body['email_confirmed_at']).toBeDefined()
    expect((await update(id, { email_confirm: false })).body['email_confirmed_at']).toBeDefined()
  })

  it('makes an anonymous user permanent with a confirmed address', async () => {
    const { body } = await post(server, '/signup', {})
    const updated = await update(String(body['id']), { email: anEmail(), email_confirm: true })
    expect(updated.body['is_anonymous']).toBe(false)
  })

  it('sets the password for versioned requests only, by the rules, and ends all sessions', async () => {
    const user = await aUser(server)
    expect((await update(user.user.id, { password: 'ignored password' })).status).toBe(200)
    const signIn = (password: string) =>
      post(server, '/token?grant_type=password', { email: user.email, password })
    expect((await signIn(PASSWORD)).status).toBe(200)
    expectError(await update(user.user.id, { password: '' }, versioned), 400, 'validation_failed')
    expectError(await update(user.user.id, { password: '12345' }, versioned), 422, 'weak_password')
    expect((await update(user.user.id, { password: 'set by an admin' }, versioned)).status).toBe(200)
    expect((await signIn('set by an admin')).status).toBe(200)
    expectError(await get(server, '/user', { token: user.access_token }), 403, 'session_not_found')
  })

  it('bans for a Go duration, and lifts the ban', async () => {
    const user = await aUser(server)
    const now = server.clock.now().getTime()
    for (const [duration, ms] of [
      ['24h', 86_400_000],
      ['1h30m', 5_400_000],
      ['1.5h', 5_400_000],
      ['+10s', 10_000],
    ] as const) {
      const { body } = await update(user.user.id, { ban_duration: duration })
      expect(body['banned_until']).toBe(new Date(now + ms).toISOString())
    }
    const signIn = (password: string) =>
      post(server, '/token?grant_type=password', { email: user.email, password })
    expectError(await signIn(PASSWORD), 400, 'user_banned')
    expectError(await signIn('wrong password'), 400, 'invalid_credentials')
    expectError(await get(server, '/user', { token: user.access_token }), 403, 'user_banned')
    for (const lift of ['none', '0s'])
      expect((await update(user.user.id, { ban_duration: lift })).body).not.toHaveProperty('banned_until')
    expect((await signIn(PASSWORD)).status).toBe(200)
    for (const duration of ['10', '1s'.repeat(51)])
      expectError(await update(user.user.id, { ban_duration: duration }), 400, 'validation_failed')
  })

  it('answers 404 for unknown users and for ids that are not UUIDs', async () => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const body = method === 'PUT' ? {} : undefined
      expectError(
        await call(server, method, `/admin/users/${randomUUID()}`, { ...admin, body }),
        404,
        'user_not_found',
      )
      expectError(await call(server, method, '/admin/users/me', { ...admin, body }), 404, 'validation_failed')
    }
  })
})

describe('DELETE /admin/users/{id}', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ AUTH_MAILER_AUTOCONFIRM: 'true' })
  })
  afterAll(() => server.close())

  it("removes all of the user's data", async () => {
    const user = await aUser(server)
    const answer = await call(server, 'DELETE', `/admin/users/${user.user.id}`, admin)
    expect([answer.status, answer.text]).toEqual([200, '{}'])
    expectError(await get(server, '/user', { token: user.access_token }), 403, 'user_not_found')
    for (const table of ['identities', 'sessions', 'one_time_tokens']) {
      const { rows } = await server.context.db.query(`select 1 from ${table} where user_id = $1`, [
        user.user.id,
      ])
      expect(rows).toEqual([])
    }
    expect((await post(server, '/signup', { email: user.email, password: PASSWORD })).status).toBe(200)
  })

  it('soft-deletes: hashes instead of addresses, no metadata, password or sessions', async () => {
    const user = await aUser(server, { data: { name: 'Ada' } })
    const path = `/admin/users/${user.user.id}`
    expect(
      (await call(server, 'DELETE', path, { ...admin, body: { should_soft_delete: true } })).status,
    ).toBe(200)
    const { body, text } = await get(server, path, admin)
    expect(body).toMatchObject({
      id: user.user.id,
      deleted_at: expect.any(String) as unknown,
      user_metadata: {},
      app_metadata: {},
    })
    expect(body['email']).toBe(createHash('sha256').update(`${user.user.id}:${user.email}`).digest('hex'))
    expect(text).not.toContain(user.email)
    expect(text).not.toContain('Ada')
    expectError(await get(server, '/user', { token: user.access_token }), 403, 'user_not_found')
    expectError(
      await post(server, '/token?grant_type=password', { email: user.email, password: PASSWORD }),
      400,
      'invalid_credentials',
    )
    expect((await post(server, '/signup', { email: user.email, password: PASSWORD })).status).toBe(200)
  })

  it('soft-deletes for good: nothing is written into the account anymore, and no address is taken for it', async () => {
    const { user } = await aUser(server)
    const path = `/admin/users/${user.id}`
    const softly = { ...admin, body: { should_soft_delete: true } }
    expect((await call(server, 'DELETE', path, softly)).status).toBe(200)
    const [before, email] = [await get(server, path, admin), anEmail()]
    for (const change of [
      { email, email_confirm: true },
      { phone: aPhone(), phone_confirm: true },
      { user_metadata: { name: 'Ada' } },
      { password: PASSWORD },
      { ban_duration: 'none' },
      {},
    ])
      expectError(await put(server, path, change, { ...admin, versioned: true }), 404, 'user_not_found')
    expect((await get(server, path, admin)).body).toEqual(before.body)
    expect((await aUser(server, { email })).email).toBe(email)
    expect((await call(server, 'DELETE', path, softly)).status).toBe(200)
    expect((await call(server, 'DELETE', path, admin)).status).toBe(200)
    expectError(await get(server, path, admin), 404, 'user_not_found')
  })
})
