import { describe, expect, it } from '@jest/globals'
import { anEmail, aPhone, expectError, PASSWORD, post, put, type Json } from './support/api.js'
import { admin, OWNER, STRANGER, STRANGERS_PASSWORD, useProofSite, type Given } from './support/proof-site.js'

const site = useProofSite()

describe('several sign-ups with one address', () => {
  it.each([
    ['the stranger came first', [STRANGER, OWNER]],
    ['the stranger came last', [OWNER, STRANGER]],
  ])('keep separate passwords: %s', async (_, order) => {
    const email = anEmail()
    const links = new Map<Given, string>()
    for (const who of order)
      links.set(who, (await site.secretsOf(email, () => site.signUp({ email }, who))).token ?? '')
    const { body } = await site.verify({ type: 'signup', token_hash: links.get(OWNER) })
    expect(body['user']).toMatchObject({ user_metadata: { from: 'self' } })
    expect((await site.signIn({ email }, PASSWORD)).status).toBe(200)
    expectError(await site.signIn({ email }, STRANGERS_PASSWORD), 400, 'invalid_credentials')
    expectError(await site.verify({ type: 'signup', token_hash: links.get(STRANGER) }), 403, 'otp_expired')
  })

  it('have one winner when all links are used at once', async () => {
    const email = anEmail()
    const passwords = [1, 2, 3, 4, 5].map((n) => `${PASSWORD} ${n}`)
    const tokens: unknown[] = []
    for (const password of passwords)
      tokens.push((await site.secretsOf(email, () => site.signUp({ email }, { password, data: {} }))).token)
    const answers = await Promise.all(
      tokens.map((token) => site.verify({ type: 'signup', token_hash: token })),
    )
    const winner = answers.findIndex(({ status }) => status === 200)
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403, 403, 403, 403])
    const signIns = await Promise.all(passwords.map((password) => site.signIn({ email }, password)))
    expect(signIns.map(({ status }) => status === 200)).toEqual(passwords.map((_, n) => n === winner))
  })

  it('are limited in number; the newest are kept', async () => {
    const email = anEmail()
    const tokens: unknown[] = []
    for (let n = 0; n < 12; n += 1, site.server.clock.advance(1000))
      tokens.push(
        (
          await site.secretsOf(email, () =>
            site.signUp({ email }, { password: `${PASSWORD} ${n}`, data: {} }),
          )
        ).token,
      )
    expectError(await site.verify({ type: 'signup', token_hash: tokens[0] }), 403, 'otp_expired')
    const { rows } = await site.server.context.db.query(
      'select 1 from pending_sign_ups s join users u on u.id = s.user_id where u.email = $1',
      [email],
    )
    expect(rows).toHaveLength(10)
    expect((await site.verify({ type: 'signup', token_hash: tokens[11] })).status).toBe(200)
  })

  it('get nothing from a resent confirmation unless there is only one', async () => {
    const resend = (email: string) =>
      site.secretsOf(email, () => post(site.server, '/resend', { type: 'signup', email }))
    const alone = anEmail()
    await site.secretsOf(alone, () => site.signUp({ email: alone }, OWNER))
    const { token } = await resend(alone)
    expect((await site.verify({ type: 'signup', token_hash: token })).status).toBe(200)
    expect((await site.signIn({ email: alone }, PASSWORD)).status).toBe(200)

    const email = anEmail()
    await site.secretsOf(email, () => site.signUp({ email }, OWNER))
    await site.secretsOf(email, () => site.signUp({ email }, STRANGER))
    const again = await resend(email)
    expect((await site.verify({ type: 'signup', token_hash: again.token })).status).toBe(200)
    for (const password of [PASSWORD, STRANGERS_PASSWORD])
      expectError(await site.signIn({ email }, password), 400, 'invalid_credentials')
  })

  it('cannot leave a password on an unproven address: the table refuses it', async () => {
    const email = anEmail()
    await site.secretsOf(email, () => site.signUp({ email }, STRANGER))
    const write = site.server.context.db.query("update users set encrypted_password = 'x' where email = $1", [
      email,
    ])
    await expect(write).rejects.toThrow(/users_password_needs_proof/)
  })
})

describe('an address that a stranger merely claims', () => {
  it('goes to the person who proves it', async () => {
    const [email, own] = [anEmail(), anEmail()]
    await site.secretsOf(email, () => site.signUp({ email }, STRANGER))
    const { token } = await site.secretsOf(own, () => site.signUp({ email: own }, OWNER))
    const { body } = await site.verify({ type: 'signup', token_hash: token })
    const session = { token: String(body['access_token']) }
    const change = await site.secretsOf(email, () => put(site.server, '/user', { email }, session))
    const current = site.server.inbox
      .messages({ to: own })
      .at(-1)
      ?.links.find((link) => link.includes('token='))
    await site.verify({
      type: 'email_change',
      token_hash: new URL(current ?? '').searchParams.get('token'),
    })
    const changed = await site.verify({ type: 'email_change', token_hash: change.token })
    expect(changed.body['user']).toMatchObject({ id: (body['user'] as Json)['id'], email })
    expect((await site.signIn({ email }, PASSWORD)).status).toBe(200)
    expectError(await site.signIn({ email }, STRANGERS_PASSWORD), 400, 'invalid_credentials')
  })

  it('goes to exactly one of two who prove it at once', async () => {
    const [email, phone] = [anEmail(), aPhone()]
    await site.signUp({ phone }, STRANGER)
    const codes: string[] = []
    for (let n = 0; n < 2; n += 1) {
      const own = `${n}${email}`
      const { token } = await site.secretsOf(own, () => site.signUp({ email: own }, OWNER))
      const { body } = await site.verify({ type: 'signup', token_hash: token })
      await put(site.server, '/user', { phone }, { token: String(body['access_token']) })
      codes.push(site.gateway.codeFor(phone))
    }
    const answers = await Promise.all(
      codes.map((token) => site.verify({ type: 'phone_change', phone, token })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422])
  })
})

describe('a first message that cannot be sent', () => {
  it('leaves no user behind when it is an SMS', async () => {
    for (const path of ['/signup', '/otp']) {
      const phone = aPhone()
      site.gateway.refuse(true)
      expect((await post(site.server, path, { phone, password: PASSWORD })).status).toBe(200)
      site.gateway.refuse(false)
      expect(await site.userRow({ phone })).toEqual({})
    }
  })

  it('leaves no user behind when it is an email, for sign-ups and invitations', async () => {
    for (const [path, options] of [
      ['/signup', {}],
      ['/otp', {}],
      ['/invite', admin],
    ] as const) {
      const email = anEmail()
      site.server.inbox.fail({ at: 'recipient', to: (address) => address === email })
      expect((await post(site.server, path, { email, password: PASSWORD }, options)).status).toBe(200)
      site.server.inbox.fail(null)
      expect(await site.userRow({ email })).toEqual({})
    }
  })

  it('does not affect an earlier sign-up', async () => {
    const email = anEmail()
    const { token } = await site.secretsOf(email, () => site.signUp({ email }, OWNER))
    site.server.inbox.fail({ at: 'recipient', to: (address) => address === email })
    await site.signUp({ email }, STRANGER)
    site.server.inbox.fail(null)
    expect((await site.verify({ type: 'signup', token_hash: token })).status).toBe(200)
    expect((await site.signIn({ email }, PASSWORD)).status).toBe(200)
  })
})
