import { describe, expect, it } from '@jest/globals'
import { aPhone, aUser, expectError, get, post, put, type Json, type Session } from './support/api.js'
import { factorSteps } from './support/factors.js'
import {
  admin,
  ELSEWHERE,
  OWNER,
  STRANGER,
  useProofSite,
  userOfAnswer,
  type Given,
} from './support/proof-site.js'
import { identitiesOf } from './support/provider-site.js'

const site = useProofSite()
const { enroll, raise, refresh } = factorSteps(() => site.server)

const byCode = async (phone: string) =>
  userOfAnswer(await site.verify({ type: 'sms', phone, token: site.gateway.codeFor(phone) }))
const change = async (id: unknown, body: Json) =>
  (await put(site.server, `/admin/users/${String(id)}`, body, admin)).body
const somebodyElse = () => aUser(site.server, { password: 'of somebody else' })
/** Someone with a session of their own adds the number to their account. */
async function byChange({ access_token: token }: Session, phone: string): Promise<Json> {
  expect((await put(site.server, '/user', { phone }, { token })).status).toBe(200)
  const proof = { type: 'phone_change', phone, token: site.gateway.codeFor(phone) }
  return userOfAnswer(await site.verify(proof, { token }))
}

/** Proofs of a number, apart from the code of the sign-up itself; each returns the user who has the number then. */
const PHONE_PROOFS: Record<string, (phone: string) => Promise<Json>> = {
  async 'a code by SMS'(phone) {
    expect((await post(site.server, '/otp', { phone })).status).toBe(200)
    return byCode(phone)
  },
  async 'the code of another sign-up'(phone) {
    expect((await site.signUp({ phone }, STRANGER, ELSEWHERE)).status).toBe(200)
    return byCode(phone)
  },
  async 'a code sent again to another network'(phone) {
    const { status } = await post(site.server, '/resend', { type: 'sms', phone }, ELSEWHERE)
    expect(status).toBe(200)
    const proof = { type: 'sms', phone, token: site.gateway.codeFor(phone) }
    return userOfAnswer(await site.verify(proof, ELSEWHERE))
  },
  async 'a change of another account'(phone) {
    return byChange(await somebodyElse(), phone)
  },
  async 'an anonymous visitor who adds it'(phone) {
    return byChange((await post(site.server, '/signup', {})).body as Session, phone)
  },
  async 'an administrator who confirms it'(phone) {
    return change((await site.userRow({ phone })).id, { phone_confirm: true })
  },
  async 'an administrator who adds an account with it'(phone) {
    return (await post(site.server, '/admin/users', { phone, phone_confirm: true }, admin)).body
  },
  async 'an administrator who enters it in another account'(phone) {
    return change((await somebodyElse()).user.id, { phone, phone_confirm: true })
  },
}

/**
 * An account that only claims the number, with everything that such an account can have: a pending password, metadata, an open session and
 * a second factor. Accounts that claim an email address get these through a provider that does not vouch for it. No provider reports
 * numbers, so this changes the rows.
 */
async function claimed(phone: string, earlier: Given): Promise<Session> {
  await site.signUp({ phone }, earlier)
  const proof = { type: 'sms', phone, token: site.gateway.codeFor(phone) }
  const first = (await site.verify(proof)).body as Session
  const session = await raise(first, await enroll(first))
  const { db } = site.server.context
  const { id } = first.user
  await db.query("update identities set provider = 'github' where user_id = $1", [id])
  await db.query('update users set phone_confirmed_at = null, encrypted_password = null where id = $1', [id])
  expect((await site.signUp({ phone }, earlier)).status).toBe(200)
  return session
}

const countOf = async (table: string, id: unknown, where = 'true') =>
  (await site.server.context.db.query(`select 1 from ${table} where user_id = $1 and ${where}`, [id])).rows
    .length

describe.each([
  ['a stranger', STRANGER],
  ['the same person', OWNER],
])('after a sign-up with a number by %s', (_, earlier) => {
  it.each(Object.entries(PHONE_PROOFS))('%s discards what that sign-up brought', async (_name, prove) => {
    const phone = aPhone()
    const session = await claimed(phone, earlier)
    const old = site.gateway.codeFor(phone)
    const user = await prove(phone)
    expect(user).toMatchObject({ phone, phone_confirmed_at: expect.any(String) as unknown })
    // Neither the password of that sign-up nor its code works anymore.
    expectError(await site.signIn({ phone }, earlier.password), 400, 'invalid_credentials')
    expectError(await site.verify({ type: 'sms', phone, token: old }), 403, 'otp_expired')
    expect(await countOf('pending_sign_ups', user['id'])).toBe(0)
    expect(user['user_metadata']).not.toHaveProperty('from')
    expect(await countOf('mfa_factors', user['id'])).toBe(0)
    expect(identitiesOf(user)).not.toContain('github')
    const refreshed = await refresh(session.refresh_token)
    const read = await get(site.server, '/user', { token: session.access_token })
    if (user['id'] === session.user.id) {
      expectError(refreshed, 400, 'refresh_token_not_found')
      expectError(read, 403, 'session_not_found')
    } else {
      // The session may continue only in an account that has lost the number.
      expect([undefined, '']).toContain((refreshed.body['user'] as Json | undefined)?.['phone'])
      expect([undefined, '']).toContain(read.body['phone'])
    }
  })

  it('its own code by SMS applies its password and data', async () => {
    const phone = aPhone()
    await site.signUp({ phone }, earlier)
    expectError(await site.signIn({ phone }, earlier.password), 400, 'phone_not_confirmed')
    expect(await site.userRow({ phone })).toMatchObject({ encrypted_password: null, user_metadata: {} })
    const user = await byCode(phone)
    expect(user).toMatchObject({ user_metadata: { ...earlier.data, phone, phone_verified: true } })
    expect((await site.signIn({ phone }, earlier.password)).status).toBe(200)
  })
})
