import { randomUUID } from 'node:crypto'
import { hash } from '@node-rs/argon2'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aPhone, expectError, post, type CallOptions, type Json } from './support/api.js'
import { passwordHashOf } from './support/password-hash.js'
import { startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const admin: CallOptions = { token: serviceToken() }

describe('POST /admin/users', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ AUTH_DISABLE_SIGNUP: 'true' })
  })
  afterAll(() => server.close())
  const create = (body: Json, path = '/admin/users') => post(server, path, body, admin)
  const signIn = (email: string, password: string) =>
    post(server, '/token?grant_type=password', { email, password })

  it('creates a user with both identities and the given metadata, without an email, while sign-up is disabled', async () => {
    const [email, phone] = [anEmail(), aPhone()]
    const { status, body } = await create({
      email,
      phone,
      role: 'editor',
      aud: 'authenticated',
      user_metadata: { a: 1 },
      app_metadata: { tier: 'gold' },
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      email,
      phone,
      role: 'editor',
      app_metadata: { provider: 'email', providers: ['email', 'phone'], tier: 'gold' },
    })
    expect(body['user_metadata']).toEqual({ a: 1 })
    expect(body).not.toHaveProperty('confirmed_at')
    expect((body['identities'] as Json[]).map(({ provider }) => provider)).toEqual(['email', 'phone'])
    expect(server.inbox.messages({ to: email })).toEqual([])
  })

  it('keeps the metadata as given when a phone is confirmed', async () => {
    const user_metadata = { a: 1 }
    const body = { phone: aPhone(), phone_confirm: true, user_metadata }
    const { body: created } = await post(server, '/admin/users', body, admin)
    expect(created).toMatchObject({ phone_confirmed_at: expect.any(String) as unknown, user_metadata })
    expect(created['user_metadata']).toEqual(user_metadata)
  })

  it('confirms on demand and marks the metadata', async () => {
    const { body } = await create({ email: anEmail(), email_confirm: true, user_metadata: { a: 1 } })
    expect(body).toMatchObject({
      email_confirmed_at: expect.any(String) as unknown,
      user_metadata: { a: 1, email_verified: true },
      identities: [{ identity_data: { email_verified: true } }],
    })
  })

  it('accepts a weak password, sets none if none is given, and refuses 73 bytes', async () => {
    const email = anEmail()
    expect((await create({ email, password: '1', email_confirm: true })).status).toBe(200)
    const weak = await signIn(email, '1')
    expect(weak.body['weak_password']).toEqual({
      reasons: ['length'],
      message: expect.any(String) as unknown,
    })
    const other = anEmail()
    await create({ email: other, email_confirm: true })
    expect(await passwordHashOf(server, other)).toBeNull()
    expectError(await signIn(other, ''), 400, 'invalid_credentials')
    expectError(await create({ email: anEmail(), password: 'x'.repeat(73) }), 400, 'validation_failed')
  })

  it('imports bcrypt and argon2 hashes, and replaces them at the first sign-in', async () => {
    const email = anEmail()
    const imported = await hash('imported secret', { memoryCost: 4096, timeCost: 3, parallelism: 1 })
    expect(imported).toMatch(/^\$argon2id\$/)
    expect((await create({ email, password_hash: imported, email_confirm: true })).status).toBe(200)
    expectError(await signIn(email, 'another secret'), 400, 'invalid_credentials')
    expect((await signIn(email, 'imported secret')).status).toBe(200)
    expect(await passwordHashOf(server, email)).toMatch(/^\$2/)
    expect((await signIn(email, 'imported secret')).status).toBe(200)
  })

  it('uses the id of the path or the body', async () => {
    const [first, second] = [randomUUID(), randomUUID()]
    expect((await create({ email: anEmail() }, `/admin/users/${first}`)).body['id']).toBe(first)
    expect((await create({ email: anEmail(), id: second })).body['id']).toBe(second)
    expectError(
      await create({ email: anEmail(), id: second }, `/admin/users/${first}`),
      400,
      'validation_failed',
    )
    expectError(await create({ email: anEmail() }, `/admin/users/${first}`), 422, 'user_already_exists')
    expectError(await create({ email: anEmail() }, '/admin/users/nobody'), 404, 'validation_failed')
  })

  it.each<[string, Json]>([
    ['no address', {}],
    ['a bad email', { email: 'nonsense' }],
    ['a bad phone', { phone: 'nonsense' }],
    ['password and hash together', { email: 'a@b.co', password: 'x', password_hash: '$2a$10$x' }],
    ['an unusable hash', { email: 'a@b.co', password_hash: 'plain' }],
    [
      'a hash that the library cannot read',
      { email: 'a@b.co', password_hash: '$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHR0a$aGFzaGhhc2g' },
    ],
    ['an id that is no UUID', { email: 'a@b.co', id: 'x' }],
    ['the nil UUID', { email: 'a@b.co', id: '00000000-0000-0000-0000-000000000000' }],
    ['a ban of a bare number', { email: 'a@b.co', ban_duration: '24' }],
    ['a ban of nonsense', { email: 'a@b.co', ban_duration: 'forever' }],
  ])('refuses %s', async (_, body) => {
    expectError(await create(body), 400, 'validation_failed')
  })

  it('refuses addresses that are taken', async () => {
    const [email, phone] = [anEmail(), aPhone()]
    await create({ email, phone })
    expectError(await create({ email }), 422, 'email_exists')
    expectError(await create({ phone }), 422, 'phone_exists')
    expectError(await create({ email: anEmail(), phone }), 422, 'phone_exists')
  })
})
