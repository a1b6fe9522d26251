import { describe, expect, it } from '@jest/globals'
import { anEmail, aPhone, expectError, mailTo, post, put, type Json } from './support/api.js'
import { admin, OWNER, STRANGER, STRANGERS_PASSWORD, useProofSite } from './support/proof-site.js'

const site = useProofSite()

describe('a token', () => {
  it('from an email link does not confirm a phone number', async () => {
    const [email, phone] = [anEmail(), aPhone()]
    await post(site.server, '/admin/users', { email, phone }, admin)
    const { token } = await site.secretsOf(email, () =>
      post(site.server, '/resend', { type: 'signup', email }),
    )
    expectError(await site.verify({ type: 'sms', token }), 403, 'otp_expired')
    expectError(await site.verify({ type: 'phone_change', token }), 403, 'otp_expired')
    const { body } = await site.verify({ type: 'signup', token })
    expect(body['user']).not.toHaveProperty('phone_confirmed_at')
    expect(body['user']).toMatchObject({ email_confirmed_at: expect.any(String) as unknown })
  })

  it('sent to a former address confirms nothing', async () => {
    const [email, other] = [anEmail(), anEmail()]
    const { token } = await site.secretsOf(email, () => site.signUp({ email }, STRANGER))
    const { id } = await site.userRow({ email })
    await put(site.server, `/admin/users/${String(id)}`, { email: other }, admin)
    expectError(await site.verify({ type: 'signup', token_hash: token }), 403, 'otp_expired')
    const { token: fresh } = await site.secretsOf(other, () =>
      post(site.server, '/resend', { type: 'signup', email: other }),
    )
    expect((await site.verify({ type: 'signup', token_hash: fresh })).status).toBe(200)
    expectError(await site.signIn({ email: other }, STRANGERS_PASSWORD), 400, 'invalid_credentials')
  })

  it('sent to a former address opens nothing, no matter how the address changed', async () => {
    const { server } = site
    const email = anEmail()
    const signedUp = await site.secretsOf(email, () => site.signUp({ email }, OWNER))
    await site.verify({ type: 'signup', token_hash: signedUp.token })
    const { token, code } = await site.secretsOf(email, () => post(server, '/recover', { email }))
    await server.context.db.query('update users set email = $2 where email = $1', [email, anEmail()])
    expectError(await site.verify({ type: 'recovery', token_hash: token }), 403, 'otp_expired')
    expectError(await site.verify({ type: 'recovery', email, token: code }), 403, 'otp_expired')
  })

  it('of an invitation survives a stranger’s sign-up', async () => {
    const email = anEmail()
    const { token } = await site.secretsOf(email, () =>
      post(site.server, '/invite', { email, data: { team: 'a' } }, admin),
    )
    await site.secretsOf(email, () => site.signUp({ email }, STRANGER))
    const { status, body } = await site.verify({ type: 'invite', token_hash: token })
    expect(status).toBe(200)
    expect((body['user'] as Json)['user_metadata']).toEqual({ team: 'a', email_verified: true })
    expectError(await site.signIn({ email }, STRANGERS_PASSWORD), 400, 'invalid_credentials')
  })
})

describe('wrong codes', () => {
  const wrongFor = (code: unknown) => (code === '000000' ? '000001' : '000000')
  const guess = async (body: Json, code: unknown, times: number) => {
    for (let attempt = 0; attempt < times; attempt += 1)
      expectError(await post(site.server, '/verify', { ...body, token: wrongFor(code) }), 403, 'otp_expired')
  }

  it('count against the person: a new code grants no new guesses, and the link still works', async () => {
    const email = anEmail()
    await site.signUp({ email }, OWNER)
    await guess({ type: 'signup', email }, null, 6)
    const { code, token } = await site.secretsOf(email, () =>
      post(site.server, '/resend', { type: 'signup', email }),
    )
    await guess({ type: 'signup', email }, code, 4)
    expectError(await site.verify({ type: 'signup', email, token: code }), 403, 'otp_expired')
    expect((await site.verify({ type: 'signup', token_hash: token })).status).toBe(200)
  })

  it('count for one window only', async () => {
    const email = anEmail()
    await site.signUp({ email }, OWNER)
    const { code } = await mailTo(site.server, email)
    await guess({ type: 'signup', email }, code, 10)
    expectError(await site.verify({ type: 'signup', email, token: code }), 403, 'otp_expired')
    site.server.clock.advance(3_600_000)
    expect((await site.verify({ type: 'signup', email, token: code })).status).toBe(200)
  })

  it('count by SMS too', async () => {
    const phone = aPhone()
    await site.signUp({ phone }, OWNER)
    await guess({ type: 'sms', phone }, site.gateway.codeFor(phone), 10)
    await post(site.server, '/otp', { phone })
    expectError(
      await site.verify({ type: 'sms', phone, token: site.gateway.codeFor(phone) }),
      403,
      'otp_expired',
    )
  })

  it('are counted before they are checked, so parallel guesses get no further', async () => {
    const email = anEmail()
    await site.signUp({ email }, OWNER)
    const { code } = await mailTo(site.server, email)
    const guesses = Array.from({ length: 30 }, () =>
      post(site.server, '/verify', { type: 'signup', email, token: wrongFor(code) }),
    )
    await Promise.all(guesses)
    const { rows } = await site.server.context.db.query<{ attempts: number }>(
      'select attempts from code_attempts order by attempts desc limit 1',
    )
    expect(rows[0]?.attempts).toBe(30)
    expectError(await site.verify({ type: 'signup', email, token: code }), 403, 'otp_expired')
  })
})
