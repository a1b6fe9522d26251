import { describe, expect, it } from '@jest/globals'
import { createHash } from 'node:crypto'
import { lockWaiters } from '@signet/testkit'
import { queriesDuring } from './support/queries.js'
import { personalTokens } from './support/personal-tokens.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth()

const { jwt, create, list, revoke } = personalTokens(harness, oauth)
const age = (id: string, change: string) =>
  harness.db.query(`update personal_tokens set ${change} where id = $1`, [id])

describe('form', () => {
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
    const uses = (token: string) => queriesDuring(harness.db, () => oauth.works(token))
    expect(await uses(wrong)).toEqual([])
    expect((await uses(body.token)).length).toBeGreaterThan(0)
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

  it('shows a name without what would hide or turn parts of it', async () => {
    const { body } = await create(jwt(harness.identity.addUser()), {
      name: ' \u202egnp.my\u2066 laptop\u200b\u200f ',
    })
    expect(body).toMatchObject({ name: 'gnp.my laptop' })
    expect((await create(jwt(harness.identity.addUser()), { name: '\u202e\u200b' })).status).toBe(400)
  })

  it('takes 365 days and a name of 100 emoji', async () => {
    const { status } = await create(jwt(harness.identity.addUser()), {
      name: '😀'.repeat(100),
      expires_in_days: 365,
    })
    expect(status).toBe(201)
  })
})

describe('the sign-in behind a user JWT', () => {
  const send = (token: string, method: string, path = '') =>
    oauth.json(`/account/tokens${path}`, { method, headers: { authorization: `Bearer ${token}` } })

  it('must have shown the second factor, if the account has one', async () => {
    const user = harness.identity.addUser({ secondFactor: true })
    const strong = harness.identity.jwtFor(user, { aal: 'aal2' })
    const { status, body } = await create(strong)
    expect(status).toBe(201)
    const refused = await create(jwt(user))
    expect([refused.status, refused.body]).toEqual([
      401,
      { error: { code: 'unauthorized', message: expect.stringContaining('second factor') as unknown } },
    ])
    expect(refused.headers.get('www-authenticate')).toContain('error="insufficient_user_authentication"')
    expect((await send(jwt(user), 'GET')).status).toBe(401)
    expect((await send(jwt(user), 'DELETE', `/${body.id}`)).status).toBe(401)
    expect((await send(strong, 'GET')).body).toMatchObject({ items: [{ id: body.id, status: 'active' }] })
  })

  it('must be of a session that is not over, although its JWT has yet to expire', async () => {
    const user = harness.identity.addUser()
    const token = jwt(user)
    expect((await create(token)).status).toBe(201)
    user.signedOut = true
    const refused = await create(token)
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toContain('error="invalid_token"')
  })

  it('is asked about: while nobody answers, there are no tokens', async () => {
    const token = jwt(harness.identity.addUser())
    for (const failure of [{ status: 503 }, { status: 429 }]) {
      harness.identity.failWith(failure)
      const { status, headers } = await create(token)
      expect([status, Number(headers.get('retry-after')) > 0]).toEqual([failure.status, true])
    }
    harness.identity.failWith(null)
    expect((await create(token)).status).toBe(201)
  })
})

describe('idleness and expiry', () => {
  it('refuses a token that was idle for more than 90 days, forever', async () => {
    const user = harness.identity.addUser()
    const { body } = await create(jwt(user), { name: 'x', expires_in_days: 200 })
    await age(body.id, `created_at = now() - interval '91 days'`)
    expect(await oauth.works(body.token)).toBe(false)
    await age(body.id, `created_at = now(), last_used_at = now()`)
    expect(await oauth.works(body.token)).toBe(false)
    expect((await list(user))[0]?.status).toBe('inactive')
  })

  it.each([
    ['90 days 9 minutes', true],
    ['90 days 11 minutes', false],
  ])(
    'has its limit at 90 days, and ten minutes for uses that were not recorded: %s',
    async (unused, usable) => {
      const user = harness.identity.addUser()
      const [checked, listed, swept] = await Promise.all(
        [1, 2, 3].map(async () => (await create(jwt(user), { name: 'x', expires_in_days: 200 })).body),
      )
      for (const token of [checked, listed, swept])
        await age(token?.id ?? '', `created_at = now() - interval '${unused}'`)
      const status = (await list(user)).find(({ id }) => id === listed?.id)?.status
      expect(status).toBe(usable ? 'active' : 'inactive')
      expect(await oauth.works(checked?.token ?? '')).toBe(usable)
      await harness.ctx.cleanup.runDaily()
      const { rows } = await harness.db.query('select revoke_reason from personal_tokens where id = $1', [
        swept?.id,
      ])
      expect(rows).toEqual([{ revoke_reason: usable ? null : 'inactive' }])
    },
  )

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
    await harness.ctx.cleanup.runDaily()
    const { rows } = await harness.db.query('select revoke_reason from personal_tokens where id = $1', [
      body.id,
    ])
    expect(rows).toEqual([{ revoke_reason: 'inactive' }])
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

  it('gives the last place to one of several that would all find it free', async () => {
    const token = jwt(harness.identity.addUser())
    const first = await Promise.all(Array.from({ length: 19 }, () => create(token)))
    expect(first.every(({ status }) => status === 201)).toBe(true)
    const requests: ReturnType<typeof create>[] = []
    await harness.db.transaction(async (tx) => {
      // With this lock, others can still read, but inserts wait.
      await tx.query('lock table personal_tokens in share mode')
      for (let count = 0; count < 5; count += 1) requests.push(create(token))
      await lockWaiters(harness.db, 5)
    })
    const answers = await Promise.all(requests)
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 429, 429, 429, 429])
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
