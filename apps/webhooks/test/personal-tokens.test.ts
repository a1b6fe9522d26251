import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createHash } from 'node:crypto'
import { lockWaiters } from './support/lock-waiters.js'
import { OAuthTester, type RegisteredClient } from './support/oauth.js'
import { startHarness, type Harness } from './support/harness.js'
import { type User } from './support/identity-double.js'

let harness: Harness
let oauth: OAuthTester
beforeAll(async () => {
  harness = await startHarness()
  oauth = new OAuthTester(harness)
})
afterAll(() => harness.close())

type Created = { id: string; token: string; hint: string; created_at: string; expires_at: string }
type Listed = { items: { id: string; status: string }[] }

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const jwt = (user: User, ageSeconds = 0) =>
  harness.identity.jwtFor(user, { iat: Math.floor(Date.now() / 1000) - ageSeconds })

const create = (token: string, body: unknown = { name: 'my laptop' }) =>
  oauth.json<Created>('/account/tokens', {
    method: 'POST',
    headers: { ...bearer(token), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const list = async (user: User) =>
  (await oauth.json<Listed>('/account/tokens', { headers: bearer(jwt(user)) })).body.items
const revoke = (token: string, id: string) =>
  oauth.json(`/account/tokens/${id}`, { method: 'DELETE', headers: bearer(token) })
const age = (id: string, change: string) =>
  harness.db.query(`update personal_tokens set ${change} where id = $1`, [id])

/** A token of the command-line tool's client. */
async function manageToken(user: User, scope = 'mcp:connect tokens:manage') {
  const client: RegisteredClient = {
    client_id: 'svcl_cli',
    redirect_uris: ['http://127.0.0.1/callback'],
    token_endpoint_auth_method: 'none',
  }
  return (await oauth.exchange(client, await oauth.authorize(client, user, { scope }))).body.access_token
}

describe('H.5 row 31: form', () => {
  it('has prefix, 30 characters and a checksum, is stored hashed and shown once', async () => {
    const user = harness.identity.addUser()
    const { status, body, headers } = await create(jwt(user), { name: '  my laptop ', expires_in_days: 30 })
    expect(status).toBe(201)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toEqual({
      id: expect.stringMatching(/^[1-9]\d*$/) as unknown,
      name: 'my laptop',
      token: expect.stringMatching(/^svp_[0-9A-Za-z]{36}$/) as unknown,
      hint: `svp_…${body.token.slice(-4)}`,
      scope: 'mcp:connect',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown,
      expires_at: expect.any(String) as unknown,
      last_used_at: '',
    })
    expect(Date.parse(body.expires_at) - Date.parse(body.created_at)).toBe(30 * 86_400_000)
    const { rows } = await harness.db.query<{ token_hash: Buffer }>(
      'select token_hash from personal_tokens where id = $1',
      [body.id],
    )
    expect(rows[0]?.token_hash).toEqual(createHash('sha256').update(body.token).digest())
    expect(JSON.stringify(await list(user))).not.toContain(body.token)
  })

  it('lives 90 days by default', async () => {
    const { body } = await create(jwt(harness.identity.addUser()))
    expect(Date.parse(body.expires_at) - Date.parse(body.created_at)).toBe(90 * 86_400_000)
  })

  it('makes no query for a bad checksum', async () => {
    const { body } = await create(jwt(harness.identity.addUser()))
    const wrong = body.token.slice(0, -1) + (body.token.endsWith('0') ? '1' : '0')
    const query = harness.db.query.bind(harness.db)
    let queries = 0
    harness.db.query = (...args) => ((queries += 1), query(...args)) as never
    try {
      expect(await oauth.works(wrong)).toBe(false)
      expect(queries).toBe(0)
      expect(await oauth.works(body.token)).toBe(true)
      expect(queries).toBeGreaterThan(0)
    } finally {
      harness.db.query = query
    }
  })

  it.each([0, 366, 1.5, '30', -1, null, true])('refuses expires_in_days %j', async (expires_in_days) => {
    const { status, body } = await create(jwt(harness.identity.addUser()), { name: 'x', expires_in_days })
    expect([status, (body as unknown as { error: { code: string } }).error.code]).toEqual([
      400,
      'bad_request',
    ])
  })

  it.each([undefined, '', '   ', 'x'.repeat(101), 7, 'a\u0000b', 'a\nb'])(
    'refuses the name %j',
    async (name) => {
      expect((await create(jwt(harness.identity.addUser()), { name })).status).toBe(400)
    },
  )

  it('takes 365 days and a name of 100 emoji', async () => {
    const { status } = await create(jwt(harness.identity.addUser()), {
      name: '😀'.repeat(100),
      expires_in_days: 365,
    })
    expect(status).toBe(201)
  })
})

describe('H.5 row 32: idleness and expiry', () => {
  it('refuses a token that was idle for more than 90 days, forever', async () => {
    const user = harness.identity.addUser()
    const { body } = await create(jwt(user), { name: 'x', expires_in_days: 200 })
    await age(body.id, `created_at = now() - interval '91 days'`)
    expect(await oauth.works(body.token)).toBe(false)
    await age(body.id, `created_at = now(), last_used_at = now()`)
    expect(await oauth.works(body.token)).toBe(false)
    expect((await list(user))[0]?.status).toBe('inactive')
  })

  it('keeps one that was used on day 89', async () => {
    const { body } = await create(jwt(harness.identity.addUser()), { name: 'x', expires_in_days: 200 })
    await age(body.id, `created_at = now() - interval '89 days'`)
    expect(await oauth.works(body.token)).toBe(true)
    await age(body.id, `created_at = now() - interval '120 days', expires_at = now() + interval '100 days'`)
    expect(await oauth.works(body.token)).toBe(true)
  })

  it('records a use at most every ten minutes, and use does not move the expiry', async () => {
    const { body } = await create(jwt(harness.identity.addUser()))
    const row = async () =>
      (
        await harness.db.query<{ last_used_at: Date; expires_at: Date }>(
          'select last_used_at, expires_at from personal_tokens where id = $1',
          [body.id],
        )
      ).rows[0]
    await oauth.works(body.token)
    const first = await row()
    await oauth.works(body.token)
    expect(await row()).toEqual(first)
    await age(body.id, `last_used_at = now() - interval '11 minutes'`)
    await oauth.works(body.token)
    expect((await row())?.last_used_at.getTime()).toBeGreaterThanOrEqual(
      first?.last_used_at.getTime() ?? Infinity,
    )
    expect((await row())?.expires_at).toEqual(first?.expires_at)
  })

  it('refuses an expired token and lists it as expired', async () => {
    const user = harness.identity.addUser()
    const { body } = await create(jwt(user))
    await age(body.id, `created_at = now() - interval '2 days', expires_at = now() - interval '1 second'`)
    expect(await oauth.works(body.token)).toBe(false)
    expect((await list(user))[0]?.status).toBe('expired')
  })

  it('is ended by the daily job as well', async () => {
    const { body } = await create(jwt(harness.identity.addUser()), { name: 'x', expires_in_days: 200 })
    await age(body.id, `created_at = now() - interval '91 days'`)
    await harness.ctx.cleanUp.runDaily()
    const { rows } = await harness.db.query('select revoke_reason from personal_tokens where id = $1', [
      body.id,
    ])
    expect(rows).toEqual([{ revoke_reason: 'inactive' }])
  })
})

describe('H.5 row 33: who may manage tokens', () => {
  it('a fresh user JWT, or an access token with tokens:manage', async () => {
    const user = harness.identity.addUser()
    expect((await create(jwt(user, 14 * 60))).status).toBe(201)
    expect((await create(await manageToken(user))).status).toBe(201)
    expect((await create(await manageToken(user, 'tokens:manage'))).status).toBe(201)
    expect(await list(user)).toHaveLength(3)
  })

  it('not a personal token, nor an ordinary access token: 403', async () => {
    const user = harness.identity.addUser()
    const { body } = await create(jwt(user))
    const { tokens } = await oauth.connect(user)
    for (const token of [body.token, tokens.access_token]) {
      const answers = await Promise.all([
        create(token),
        oauth.json('/account/tokens', { headers: bearer(token) }),
        revoke(token, body.id),
      ])
      for (const { status, body: error, headers } of answers) {
        expect([status, (error as { error?: { code: string } }).error?.code]).toEqual([403, 'forbidden'])
        expect(headers.get('www-authenticate')).toContain('error="insufficient_scope"')
      }
    }
  })

  it('not a JWT older than 15 minutes, nor nothing: 401', async () => {
    const user = harness.identity.addUser()
    expect((await create(jwt(user, 15 * 60 + 2))).status).toBe(401)
    expect((await create('nonsense')).status).toBe(401)
    expect((await oauth.json('/account/tokens')).status).toBe(401)
  })

  it('not for the tokens of another account: 404, as for an unknown or impossible id', async () => {
    const [owner, other] = [harness.identity.addUser(), harness.identity.addUser()]
    const { body } = await create(jwt(owner))
    const answers = await Promise.all(
      [body.id, '999999', '0', '-1', '1e3', 'abc', '9223372036854775808', '%00'].map((id) =>
        revoke(jwt(other), id),
      ),
    )
    const [first] = answers
    for (const answer of answers) expect([answer.status, answer.body]).toEqual([404, first?.body])
    expect(await oauth.works(body.token)).toBe(true)
  })

  it('revokes one token at once, and only once', async () => {
    const user = harness.identity.addUser()
    const { body } = await create(jwt(user))
    expect(await oauth.works(body.token)).toBe(true)
    const { status, body: ok } = await revoke(jwt(user), body.id)
    expect([status, ok]).toEqual([200, { ok: true }])
    expect(await oauth.works(body.token)).toBe(false)
    expect((await revoke(jwt(user), body.id)).status).toBe(404)
    expect(await list(user)).toEqual([])
  })

  it('lets a personal token revoke itself, and nothing else do it through that path', async () => {
    const user = harness.identity.addUser()
    const { body } = await create(jwt(user))
    const { tokens } = await oauth.connect(user)
    expect((await revoke(tokens.access_token, 'current')).status).toBe(403)
    expect((await revoke(jwt(user), 'current')).status).toBe(401)
    expect((await revoke(body.token, 'current')).body).toEqual({ ok: true })
    expect((await revoke(body.token, 'current')).status).toBe(401)
  })
})

describe('the number of tokens', () => {
  it('gives the last free places to exactly as many of many simultaneous requests', async () => {
    const user = harness.identity.addUser()
    const token = jwt(user)
    const answers = await Promise.all(Array.from({ length: 25 }, () => create(token)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(20)
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(5)
    for (const { headers } of refused) expect(headers.get('retry-after')).toBeNull()
    const [first] = await list(user)
    await revoke(token, first?.id ?? '')
    expect((await create(token)).status).toBe(201)
  })

  it('counts usable ones only, and lists newest first', async () => {
    const user = harness.identity.addUser()
    const ids: string[] = []
    for (let count = 0; count < 20; count += 1) ids.push((await create(jwt(user))).body.id)
    await age(
      ids[0] ?? '',
      `created_at = now() - interval '2 days', expires_at = now() - interval '1 second'`,
    )
    expect((await create(jwt(user))).status).toBe(201)
    expect((await create(jwt(user))).status).toBe(429)
    const listed = (await list(user)).map(({ id }) => Number(id))
    expect(listed).toEqual([...listed].sort((a, b) => b - a))
  })
})

describe('a revoked account', () => {
  it('loses sessions, grants and personal tokens at once, and older JWTs open nothing', async () => {
    const user = harness.identity.addUser()
    const { client, tokens } = await oauth.connect(user)
    const personal = (await create(jwt(user))).body
    const grant = await oauth.authorize(client, user)
    const oldJwt = jwt(user)
    await harness.ctx.accounts.revoke(user.id, 'banned')
    expect(await oauth.works(tokens.access_token)).toBe(false)
    expect(await oauth.works(personal.token)).toBe(false)
    expect((await oauth.refresh(client, tokens.refresh_token)).status).toBe(400)
    expect((await oauth.exchange(client, grant)).status).toBe(400)
    expect((await create(oldJwt)).status).toBe(401)
    const page = await grant.browser.get(oauth.authorizeUrl(client.client_id))
    expect(page.text).toContain('name="password"')
  })

  it('wins against a decision that is made at the same moment', async () => {
    const user = harness.identity.addUser()
    const client = await oauth.client()
    const browser = oauth.browser()
    const consent = await oauth.signIn(browser, await browser.get(oauth.authorizeUrl(client.client_id)), user)
    const started: Promise<unknown>[] = []
    await harness.db.transaction(async (tx) => {
      // Stops the decision when its grant is made and not yet visible.
      await tx.query('select 1 from oauth_clients where client_id = $1 for update', [client.client_id])
      started.push(browser.submit(consent, '/decision', { decision: 'approve' }))
      await lockWaiters(harness.db, 1)
      started.push(harness.ctx.accounts.revoke(user.id, 'banned'))
      await lockWaiters(harness.db, 2)
    })
    await Promise.all(started)
    const { rows } = await harness.db.query<{ revoked: boolean }>(
      'select revoked_at is not null as revoked from oauth_grants where account_id = $1',
      [user.id],
    )
    expect(rows).toEqual([{ revoked: true }])
  })
})
