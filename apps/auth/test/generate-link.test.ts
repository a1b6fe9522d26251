import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  anEmail,
  aUser,
  expectError,
  get,
  mailTo,
  PASSWORD,
  post,
  put,
  type CallOptions,
  type Json,
} from './support/api.js'
import { lockWaiters } from '@signet/testkit'
import { passwordHashOf } from './support/password-hash.js'
import { SITE, startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const admin: CallOptions = { token: serviceToken() }

describe('POST /admin/generate_link', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ AUTH_MAILER_URLPATHS_RECOVERY: '/recovered' })
  })
  afterAll(() => server.close())
  const generate = (body: Json) => post(server, '/admin/generate_link', body, admin)

  it('returns the user with link, code and token, and sends nothing', async () => {
    const email = anEmail()
    const { status, body } = await generate({
      type: 'signup',
      email,
      password: PASSWORD,
      data: { a: 1 },
      redirect_to: `${SITE}/x?y=1`,
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      email,
      user_metadata: { a: 1 },
      email_otp: expect.stringMatching(/^\d{6}$/) as unknown,
      hashed_token: expect.stringMatching(/^[0-9a-f]{56}$/) as unknown,
      verification_type: 'signup',
      redirect_to: `${SITE}/x?y=1`,
    })
    expect(body['action_link']).toBe(
      `https://auth.example.com/auth/v1/verify?token=${String(body['hashed_token'])}&type=signup&redirect_to=${encodeURIComponent(`${SITE}/x?y=1`)}`,
    )
    expect(server.inbox.messages()).toEqual([])
    const byCode = await post(server, '/verify', { type: 'signup', email, token: body['email_otp'] })
    expect(byCode.status).toBe(200)
  })

  it('creates links of each kind for known users, with paths from the settings', async () => {
    const email = anEmail()
    await post(server, '/admin/users', { email, email_confirm: true }, admin)
    for (const type of ['magiclink', 'recovery']) {
      const { body } = await generate({ type, email })
      expect(body['verification_type']).toBe(type)
      expect(body['action_link']).toMatch(
        new RegExp(
          `^https://auth\\.example\\.com/auth/v1/recovered\\?token=[0-9a-f]{56}&type=${type}&redirect_to=`,
        ),
      )
      expect((await post(server, '/verify', { type, token: body['hashed_token'] })).status).toBe(200)
    }
    const newEmail = anEmail()
    for (const type of ['email_change_current', 'email_change_new']) {
      const { body } = await generate({ type, email, new_email: newEmail })
      expect(body['action_link']).toContain('&type=email_change&')
      expect(body['action_link']).toContain(`?token=${String(body['hashed_token'])}&`)
      expect(
        (await post(server, '/verify', { type: 'email_change', token: body['hashed_token'] })).status,
      ).toBe(200)
    }
  })

  describe('of an email change', () => {
    const aChange = async (token: string, newEmail: string) => {
      expect((await put(server, '/user', { email: newEmail }, { token })).status).toBe(200)
      return (await mailTo(server, newEmail)).token
    }
    const use = async (token: unknown) => {
      const { status, body } = await post(server, '/verify', { type: 'email_change', token })
      return { status, isDone: 'user' in body }
    }

    it('do not confirm the half that is confirmed in place of the other', async () => {
      const { email, access_token } = await aUser(server)
      const newEmail = anEmail()
      expect(await use(await aChange(access_token, newEmail))).toEqual({ status: 200, isDone: false })
      const { body } = await generate({ type: 'email_change_new', email, new_email: newEmail })
      expect(await use(body['hashed_token'])).toEqual({ status: 200, isDone: false })
      const { body: current } = await generate({ type: 'email_change_current', email, new_email: newEmail })
      expect(await use(current['hashed_token'])).toEqual({ status: 200, isDone: true })
    })

    it('end the emails of another change', async () => {
      const { email, access_token } = await aUser(server)
      await aChange(access_token, anEmail())
      const current = server.inbox
        .messages({ to: email, subject: 'Confirm your new email address' })
        .at(-1)
        ?.links.find((url) => url.includes('token='))
      await generate({ type: 'email_change_new', email, new_email: anEmail() })
      const token = new URL(current ?? '').searchParams.get('token')
      expect((await use(token)).status).toBe(403)
    })
  })

  it.each(['magiclink', 'recovery'])(
    'makes no %s for a user whose address somebody else got while the request waited',
    async (type) => {
      const [email, other] = [anEmail(), anEmail()]
      const { id } = (await post(server, '/admin/users', { email, email_confirm: true }, admin)).body
      const { answer } = await server.context.db.transaction(async (tx) => {
        await tx.query('update users set email = $2 where id = $1', [id, other])
        const answer = generate({ type, email })
        await lockWaiters(server.context.db, 1)
        return { answer }
      })
      expectError(await answer, 404, 'user_not_found')
    },
  )

  it('turns a magic link for an unknown address into a sign-up without a password', async () => {
    const email = anEmail()
    const { body } = await generate({ type: 'magiclink', email })
    expect(body['verification_type']).toBe('signup')
    expect(await post(server, '/verify', { type: 'signup', token: body['hashed_token'] })).toMatchObject({
      status: 200,
    })
    expect(await passwordHashOf(server, email)).toBeNull()
  })

  it('invites', async () => {
    const { body } = await generate({ type: 'invite', email: anEmail(), data: { a: 1 } })
    expect(body).toMatchObject({ verification_type: 'invite', invited_at: expect.any(String) as unknown })
    expect((await post(server, '/verify', { type: 'invite', token: body['hashed_token'] })).status).toBe(200)
  })

  it.each([
    ['signup', 'unconfirmed'],
    ['invite', 'unconfirmed'],
    ['magiclink', 'unconfirmed'],
    ['magiclink', 'confirmed'],
    ['recovery', 'unconfirmed'],
    ['recovery', 'confirmed'],
    ['email_change_current', 'confirmed'],
    ['email_change_new', 'confirmed'],
  ])('merges data into the metadata for %s of a user that is %s', async (type, state) => {
    const [email, new_email] = [anEmail(), anEmail()]
    const made = { email, email_confirm: state === 'confirmed', user_metadata: { status: 'alpha', team: 1 } }
    const { id } = (await post(server, '/admin/users', made, admin)).body
    const say = async (data: Json) => {
      const { body } = await generate({ type, email, new_email, password: PASSWORD, data })
      return { metadata: body['user_metadata'], token: body['hashed_token'] }
    }
    const before = (await get(server, `/admin/users/${String(id)}`, admin)).body['user_metadata'] as Json
    const claims = { sub: 'x', email: 'x', email_verified: 'x', phone: '1', phone_verified: true, iss: 'x' }
    expect((await say({ plan: 'pro', ...claims })).metadata).toEqual({ ...before, plan: 'pro' })
    const last = await say({ status: null, team: 2 })
    const { status: _status, ...rest } = before
    expect(last.metadata).toEqual({ ...rest, plan: 'pro', team: 2 })
    expect((await say({ long: 'x'.repeat(8 * 1024) })).metadata).toBeUndefined()

    const verified = type.startsWith('email_change') ? 'email_change' : type
    expect((await post(server, '/verify', { type: verified, token: last.token })).status).toBe(200)
    const { body: user } = await get(server, `/admin/users/${String(id)}`, admin)
    expect(user['user_metadata']).toMatchObject({ plan: 'pro', team: 2 })
    expect(user['user_metadata']).not.toHaveProperty('status')
  })

  it('falls back to the site for a target that is not allowed', async () => {
    const { body } = await generate({
      type: 'magiclink',
      email: anEmail(),
      redirect_to: 'https://evil.example',
    })
    expect(body['redirect_to']).toBe(SITE)
  })

  it('refuses requests that no link can be made for', async () => {
    const confirmed = anEmail()
    await post(server, '/admin/users', { email: confirmed, email_confirm: true }, admin)
    const cases: [Json, number, string][] = [
      [{ type: 'nonsense', email: anEmail() }, 400, 'validation_failed'],
      [{ type: 'signup', email: 'nonsense', password: PASSWORD }, 400, 'validation_failed'],
      [{ type: 'recovery', email: anEmail() }, 404, 'user_not_found'],
      [{ type: 'email_change_new', email: anEmail(), new_email: anEmail() }, 404, 'user_not_found'],
      [{ type: 'signup', email: confirmed, password: PASSWORD }, 422, 'email_exists'],
      [{ type: 'invite', email: confirmed }, 422, 'email_exists'],
      [{ type: 'signup', email: anEmail() }, 400, 'validation_failed'],
      [{ type: 'signup', email: anEmail(), password: '123' }, 422, 'weak_password'],
      [{ type: 'email_change_new', email: confirmed }, 400, 'validation_failed'],
      [{ type: 'email_change_new', email: confirmed, new_email: confirmed }, 422, 'email_exists'],
    ]
    for (const [body, status, code] of cases) expectError(await generate(body), status, code)
    const plain = await startServer({ AUTH_MAILER_SECURE_EMAIL_CHANGE_ENABLED: 'false' })
    try {
      const body = { type: 'email_change_current', email: anEmail(), new_email: anEmail() }
      expectError(await post(plain, '/admin/generate_link', body, admin), 400, 'validation_failed')
    } finally {
      await plain.close()
    }
  })
})
