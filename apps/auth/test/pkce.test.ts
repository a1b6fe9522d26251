import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { lockWaiters } from '@signet/testkit'
import { anEmail, aUser, expectError, get, mailTo, PASSWORD, post, put, type Json } from './support/api.js'
import { NO_EMAIL_GAPS, SITE, startServer, type TestServer } from './support/server.js'
import { claimsOf } from './support/tokens.js'

const aFlow = (method: 's256' | 'S256' | 'plain' = 's256') => {
  const verifier = randomBytes(56).toString('hex')
  const challenge = method === 'plain' ? verifier : createHash('sha256').update(verifier).digest('base64url')
  return { verifier, request: { code_challenge: challenge, code_challenge_method: method } }
}

describe('PKCE in email flows', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ ...NO_EMAIL_GAPS, AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '0' })
  })
  afterAll(() => server.close())

  const exchange = (code: unknown, verifier: unknown) =>
    post(server, '/token?grant_type=pkce', { auth_code: code, code_verifier: verifier })
  const follow = async (token: unknown, type = 'signup') => {
    const answer = await get(server, `/verify?type=${type}&token=${String(token)}`)
    return new URL(answer.headers.get('location') ?? '')
  }
  const signUp = async (request: Json) => {
    const email = anEmail()
    await post(server, '/signup', { email, password: PASSWORD, ...request })
    return { email, ...(await mailTo(server, email)) }
  }

  it.each(['s256', 'S256', 'plain'] as const)(
    'ends a %s flow in one session, with the method of the email as amr',
    async (method) => {
      const { verifier, request } = aFlow(method)
      const { token, email } = await signUp(request)
      expect(token).toMatch(/^pkce_/)
      const landed = await follow(token)
      expect(`${landed.origin}${landed.hash}`).toBe(SITE)
      const code = landed.searchParams.get('code')
      const { status, body } = await exchange(code, verifier)
      expect(status).toBe(200)
      expect(body).toMatchObject({ user: { email } })
      expect(body).not.toHaveProperty('type')
      expect(claimsOf(body['access_token'])['amr']).toEqual([
        expect.objectContaining({ method: 'email/signup' }),
      ])
      expectError(await exchange(code, verifier), 404, 'flow_state_not_found')
    },
  )

  it('does not sign in the person for whom a code was issued first, once it is issued again for another', async () => {
    const { verifier, request } = aFlow()
    const { token } = await signUp(request)
    const code = (await follow(token)).searchParams.get('code') ?? ''
    const other = await aUser(server)
    const { db } = server.context
    const { answer } = await db.transaction(async (tx) => {
      const hash = createHash('sha256').update(code).digest()
      const where = 'where id = (select user_id from flow_state where auth_code_hash = $1)'
      await tx.query(`select 1 from users ${where} for update`, [hash])
      const sent = exchange(code, verifier)
      await lockWaiters(db, 1)
      await tx.query('update flow_state set user_id = $2 where auth_code_hash = $1', [hash, other.user.id])
      return { answer: sent }
    })
    expectError(await answer, 404, 'flow_state_not_found')
    expect((await exchange(code, verifier)).body).toMatchObject({ user: { id: other.user.id } })
  })

  it('lets one of many parallel exchanges win', async () => {
    const { verifier, request } = aFlow()
    const { token } = await signUp(request)
    const code = (await follow(token)).searchParams.get('code')
    const answers = await Promise.all(Array.from({ length: 8 }, () => exchange(code, verifier)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(7)
  })

  it('refuses a wrong verifier, which spends the code for everyone', async () => {
    const { verifier, request } = aFlow()
    const { token } = await signUp(request)
    const code = (await follow(token)).searchParams.get('code')
    expectError(await exchange(code, 'x'.repeat(43)), 400, 'bad_code_verifier')
    expectError(await exchange(code, verifier), 404, 'flow_state_not_found')
  })

  it('refuses an expired code', async () => {
    const { verifier, request } = aFlow()
    const { token } = await signUp(request)
    const code = (await follow(token)).searchParams.get('code')
    server.clock.advance(300_000)
    expectError(await exchange(code, verifier), 422, 'flow_state_expired')
  })

  it('counts the life of a code from the click, not from the request', async () => {
    const { verifier, request } = aFlow()
    const { token } = await signUp(request)
    server.clock.advance(3_600_000)
    const code = (await follow(token)).searchParams.get('code')
    expect((await exchange(code, verifier)).status).toBe(200)
  })

  it.each([{}, { auth_code: 'x' }, { code_verifier: 'x' }, { auth_code: '', code_verifier: 'x' }])(
    'refuses %j',
    async (body) => {
      expectError(await post(server, '/token?grant_type=pkce', body), 400, 'validation_failed')
    },
  )

  it('gives no session for a link without its prefix, and the link still works', async () => {
    const { request } = aFlow()
    const { token } = await signUp(request)
    const cut = await follow(token?.replace('pkce_', ''))
    expect(cut.href).toContain('otp_expired')
    expect((await follow(token)).searchParams.get('code')).not.toBeNull()
  })

  it('opens no session with the link but without the verifier, and the link still works', async () => {
    const { verifier, request } = aFlow()
    const { token } = await signUp(request)
    const bare = String(token).replace('pkce_', '')
    for (const stolen of [{ token_hash: token }, { token }, { token_hash: bare }])
      expectError(await post(server, '/verify', { type: 'signup', ...stolen }), 400, 'bad_code_verifier')
    const body = { type: 'signup', token_hash: token, code_verifier: verifier }
    expect((await post(server, '/verify', body)).status).toBe(200)
  })

  it('spends a link that comes with a wrong verifier, also in parallel', async () => {
    const { verifier, request } = aFlow()
    const { token } = await signUp(request)
    const verify = (code_verifier: string) =>
      post(server, '/verify', { type: 'signup', token_hash: token, code_verifier })
    const guesses = await Promise.all(Array.from({ length: 6 }, (_, i) => verify(`${i}`.repeat(43))))
    expect(guesses.map(({ status }) => status).sort()).toEqual([400, 403, 403, 403, 403, 403])
    expectError(await verify(verifier), 403, 'otp_expired')
  })

  it('accepts a typed code without a verifier, as clients send it, but not with a wrong one', async () => {
    const { request } = aFlow()
    const first = await signUp(request)
    const typed = { type: 'email', email: first.email, token: first.code }
    expect((await post(server, '/verify', typed)).status).toBe(200)
    const second = await signUp(request)
    const wrong = { type: 'email', email: second.email, token: second.code, code_verifier: 'x'.repeat(43) }
    expectError(await post(server, '/verify', wrong), 400, 'bad_code_verifier')
  })

  it('gives the code of a link to the client that requested that message, not to the last one that requested any', async () => {
    const [owner, thief] = [aFlow(), aFlow()]
    const { email, token } = await signUp(owner.request)
    await post(server, '/signup', { email, password: 'of the thief', ...thief.request })
    const landed = await follow(token)
    const code = landed.searchParams.get('code')
    expect((await exchange(code, owner.verifier)).status).toBe(200)
  })

  it.each<[string, string, string, string]>([
    ['/otp', 'magiclink', 'Your sign-in link', 'magiclink'],
    ['/magiclink', 'magiclink', 'Your sign-in link', 'magiclink'],
    ['/recover', 'recovery', 'Reset your password', 'recovery'],
  ])('%s with a challenge emails a link that ends in a code', async (path, type, subject, method) => {
    const user = await aUser(server)
    const { verifier, request } = aFlow()
    await post(server, path, { email: user.email, ...request })
    const mail = await server.inbox.waitForMail({ to: user.email, subject })
    const landed = await follow(new URL(mail.links[0] ?? '').searchParams.get('token'), type)
    const { body } = await exchange(landed.searchParams.get('code'), verifier)
    expect(claimsOf(body['access_token'])['amr']).toEqual([expect.objectContaining({ method })])
  })

  describe('leaves the email’s code', () => {
    const followed = async (path: string, type: string) => {
      const { email } = await aUser(server)
      const after = (await mailTo(server, email)).mail
      const { verifier, request } = aFlow()
      await post(server, path, { email, ...request })
      const { token, code } = await mailTo(server, email, after)
      const authCode = (await follow(token, type)).searchParams.get('code')
      return { token, verifier, authCode, typed: { type: 'email', email, token: code } }
    }

    it.each([
      ['/magiclink', 'magiclink'],
      ['/recover', 'recovery'],
    ])('%s: good where the link was opened in a browser without the verifier, once', async (path, type) => {
      const { token, authCode, typed } = await followed(path, type)
      expectError(await exchange(authCode, 'x'.repeat(43)), 400, 'bad_code_verifier')
      expect((await follow(token, type)).href).toContain('otp_expired')
      expect((await post(server, '/verify', typed)).status).toBe(200)
      expectError(await post(server, '/verify', typed), 403, 'otp_expired')
    })

    it('and leads to one code, even if the link is opened many times in parallel', async () => {
      const { email } = await aUser(server)
      const after = (await mailTo(server, email)).mail
      await post(server, '/magiclink', { email, ...aFlow().request })
      const { token } = await mailTo(server, email, after)
      const landed = await Promise.all(Array.from({ length: 8 }, () => follow(token, 'magiclink')))
      expect(landed.filter((url) => url.searchParams.has('code'))).toHaveLength(1)
    })

    it('which ends the flow of its link, once it has opened a session', async () => {
      const { verifier, authCode, typed } = await followed('/magiclink', 'magiclink')
      expect((await post(server, '/verify', typed)).status).toBe(200)
      expectError(await exchange(authCode, verifier), 404, 'flow_state_not_found')
    })

    it('void once the link has opened a session', async () => {
      const { verifier, authCode, typed } = await followed('/magiclink', 'magiclink')
      expect((await exchange(authCode, verifier)).status).toBe(200)
      expectError(await post(server, '/verify', typed), 403, 'otp_expired')
    })
  })

  it('supports an email change, whose first half answers with a message in query and fragment', async () => {
    const user = await aUser(server)
    const email = anEmail()
    const { verifier, request } = aFlow()
    await put(server, '/user', { email, ...request }, { token: user.access_token })
    const current = await server.inbox.waitForMail({
      to: user.email,
      subject: 'Confirm your new email address',
    })
    const fresh = await mailTo(server, email)
    const first = await follow(fresh.token, 'email_change')
    expect(first.searchParams.get('message')).toMatch(/other email/)
    expect(first.hash).toMatch(/^#message=.*&sb=$/)
    const second = await follow(new URL(current.links[0] ?? '').searchParams.get('token'), 'email_change')
    const { body } = await exchange(second.searchParams.get('code'), verifier)
    expect(body['user']).toMatchObject({ email })
    expect(claimsOf(body['access_token'])['amr']).toEqual([
      expect.objectContaining({ method: 'email_change' }),
    ])
  })

  it('refuses a banned user with 400', async () => {
    const { verifier, request } = aFlow()
    const { token, email } = await signUp(request)
    const code = (await follow(token)).searchParams.get('code')
    await server.context.db.query("update users set banned_until = 'infinity' where email = $1", [email])
    expectError(await exchange(code, verifier), 400, 'user_banned')
  })
})
