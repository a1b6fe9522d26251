import { createHash, randomUUID } from 'node:crypto'
import { hash } from '@node-rs/argon2'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  anEmail,
  aPhone,
  aUser,
  call,
  expectError,
  get,
  mailTo,
  PASSWORD,
  post,
  put,
  type CallOptions,
  type Json,
} from './support/api.js'
import { SITE, startServer, type TestServer } from './support/server.js'
import { claimsOf, serviceToken, tokenOf } from './support/tokens.js'

const admin: CallOptions = { token: serviceToken() }
const versioned: CallOptions = { ...admin, versioned: true }

describe('admin authorization (1.0 and 1.21)', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_JWT_ADMIN_ROLES: 'supervisor,service_role',
    })
  })
  afterAll(() => server.close())
  const paths: [string, string][] = [
    ['GET', '/admin/users'],
    ['POST', '/admin/users'],
    ['GET', `/admin/users/${randomUUID()}`],
    ['POST', `/admin/users/${randomUUID()}`],
    ['PUT', `/admin/users/${randomUUID()}`],
    ['DELETE', `/admin/users/${randomUUID()}`],
    ['GET', `/admin/users/${randomUUID()}/factors`],
    ['GET', '/admin/audit'],
    ['POST', '/admin/generate_link'],
    ['POST', '/invite'],
  ]

  it.each(paths)('%s %s wants a bearer token with an admin role', async (method, path) => {
    const user = await aUser(server)
    const body = method === 'POST' || method === 'PUT' ? {} : undefined
    expectError(await call(server, method, path, { body }), 401, 'no_authorization')
    expectError(await call(server, method, path, { body, token: user.access_token }), 403, 'not_admin')
    expectError(await call(server, method, path, { body, token: 'x' }), 403, 'bad_jwt')
  })

  it('accepts every configured role, and the two named by the specification for invitations only', async () => {
    expect((await get(server, '/admin/users', { token: tokenOf({ role: 'supervisor' }) })).status).toBe(200)
    const platform = { token: tokenOf({ role: 'supabase_admin' }) }
    expectError(await get(server, '/admin/users', platform), 403, 'not_admin')
    expect((await post(server, '/invite', { email: anEmail() }, platform)).status).toBe(200)
  })

  it('wants the session of an admin token to be alive; all zeros count as none', async () => {
    const user = await aUser(server)
    const claims = { ...claimsOf(user.access_token), role: 'service_role' }
    const list = (token: string) => get(server, '/admin/users', { token })
    expect((await list(tokenOf(claims))).status).toBe(200)
    expectError(await list(tokenOf({ ...claims, session_id: randomUUID() })), 403, 'session_not_found')
    expect(
      (await list(tokenOf({ ...claims, session_id: '00000000-0000-0000-0000-000000000000' }))).status,
    ).toBe(200)
    await server.context.db.query('update sessions set not_after = $2 where user_id = $1', [
      user.user.id,
      server.clock.now(),
    ])
    expectError(await list(tokenOf(claims)), 403, 'session_expired')
    await post(server, '/logout', undefined, { token: user.access_token })
    expectError(await list(tokenOf(claims)), 403, 'session_not_found')
  })
})

describe('POST /admin/users (1.21)', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ AUTH_DISABLE_SIGNUP: 'true' })
  })
  afterAll(() => server.close())
  const create = (body: Json, path = '/admin/users') => post(server, path, body, admin)
  const signIn = (email: string, password: string) =>
    post(server, '/token?grant_type=password', { email, password })

  it('makes a user with both identities, given metadata and no mail, while sign-up is disabled', async () => {
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

  it('confirms on demand and marks the metadata', async () => {
    const { body } = await create({ email: anEmail(), email_confirm: true, user_metadata: { a: 1 } })
    expect(body).toMatchObject({
      email_confirmed_at: expect.any(String) as unknown,
      user_metadata: { a: 1, email_verified: true },
      identities: [{ identity_data: { email_verified: true } }],
    })
  })

  it('takes a weak password, makes a random one for none, and refuses 73 bytes', async () => {
    const email = anEmail()
    expect((await create({ email, password: '1', email_confirm: true })).status).toBe(200)
    const weak = await signIn(email, '1')
    expect(weak.body['weak_password']).toEqual({
      reasons: ['length'],
      message: expect.any(String) as unknown,
    })
    const other = anEmail()
    await create({ email: other, email_confirm: true })
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
    const { rows } = await server.context.db.query<{ hash: string }>(
      'select encrypted_password as hash from users where email = $1',
      [email],
    )
    expect(rows[0]?.hash).toMatch(/^\$2/)
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
    ['a bad e-mail', { email: 'nonsense' }],
    ['a bad phone', { phone: 'nonsense' }],
    ['password and hash together', { email: 'a@b.co', password: 'x', password_hash: '$2a$10$x' }],
    ['an unusable hash', { email: 'a@b.co', password_hash: 'plain' }],
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

describe('PUT /admin/users/{id} (1.21)', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    })
  })
  afterAll(() => server.close())
  const update = (id: string, body: Json, options = admin) => put(server, `/admin/users/${id}`, body, options)

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

  it('sets the password for versioned requests only, by the rules, and ends all sessions (0.2)', async () => {
    const user = await aUser(server)
    expect((await update(user.user.id, { password: 'ignored password' })).status).toBe(200)
    const signIn = (password: string) =>
      post(server, '/token?grant_type=password', { email: user.email, password })
    expect((await signIn(PASSWORD)).status).toBe(200)
    for (const password of ['', '12345'])
      expectError(await update(user.user.id, { password }, versioned), 422, 'weak_password')
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
    expectError(await update(user.user.id, { ban_duration: '10' }), 400, 'validation_failed')
  })

  it('answers 404 for who is unknown, and for what is no UUID', async () => {
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

describe('DELETE /admin/users/{id} (1.21)', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ AUTH_MAILER_AUTOCONFIRM: 'true' })
  })
  afterAll(() => server.close())

  it('removes everything of the user', async () => {
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

  it('forgets softly: hashes in place of addresses, no metadata, password or sessions', async () => {
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
})

describe('GET /admin/users and /admin/audit (1.21)', () => {
  let server: TestServer
  const emails: string[] = []
  beforeAll(async () => {
    server = await startServer({ AUTH_MAILER_AUTOCONFIRM: 'true' })
    const empty = await get(server, '/admin/users', admin)
    expect(empty.headers.get('link')).toBe('</admin/users?page=0&per_page=50>; rel="last"')
    expect(empty.headers.get('x-total-count')).toBe('0')
    for (let index = 0; index < 5; index += 1) {
      const email = `person${index}-${anEmail()}`
      emails.push(email)
      await post(
        server,
        '/admin/users',
        { email, user_metadata: { full_name: `Person Nr ${index}%` } },
        admin,
      )
      server.clock.advance(1000)
    }
  })
  afterAll(() => server.close())
  const list = async (query: string) => {
    const answer = await get(server, `/admin/users${query}`, admin)
    return { ...answer, emails: ((answer.body['users'] ?? []) as Json[]).map(({ email }) => email) }
  }

  it('lists newest first, with the audience, total and links in the form that the client reads', async () => {
    const first = await list('?page=1&per_page=2')
    expect(first.body['aud']).toBe('authenticated')
    expect(first.emails).toEqual([emails[4], emails[3]])
    expect(first.headers.get('x-total-count')).toBe('5')
    expect(first.headers.get('link')).toBe(
      '</admin/users?page=2&per_page=2>; rel="next", </admin/users?page=3&per_page=2>; rel="last"',
    )
    const last = await list('?page=3&per_page=2')
    expect(last.emails).toEqual([emails[0]])
    expect(last.headers.get('link')).toBe('</admin/users?page=3&per_page=2>; rel="last"')
    expect((await list('?page=&per_page=')).emails).toHaveLength(5)
  })

  it('sorts by created_at either way and filters by e-mail or full name, literally', async () => {
    expect((await list('?sort=created_at+asc')).emails).toEqual(emails)
    expect((await list('?sort=created_at%20desc')).emails).toEqual([...emails].reverse())
    expect((await list('?filter=PERSON3-')).emails).toEqual([emails[3]])
    const byName = await list(`?filter=${encodeURIComponent('nr 2%')}`)
    expect(byName.emails).toEqual([emails[2]])
    expect(byName.headers.get('x-total-count')).toBe('1')
    expect((await list('?filter=%25_%25')).emails).toEqual([])
  })

  it.each(['?page=x', '?page=-1', '?per_page=1.5', '?sort=email', '?sort=created_at+sideways'])(
    'refuses %s',
    async (query) => {
      expectError(await list(query), 400, 'validation_failed')
    },
  )

  it('keeps count through deletions and rolled back creations', async () => {
    const { body } = await post(server, '/admin/users', { email: anEmail() }, admin)
    server.clock.advance(1000)
    expect((await list('')).headers.get('x-total-count')).toBe('6')
    expectError(await post(server, '/admin/users', { email: emails[0] }, admin), 422, 'email_exists')
    await call(server, 'DELETE', `/admin/users/${String(body['id'])}`, admin)
    expect((await list('')).headers.get('x-total-count')).toBe('5')
  })

  it('shows the audit log, newest first, searched by author, action or type', async () => {
    const audit = (query: string) => get(server, `/admin/audit${query}`, admin)
    const all = await audit('?per_page=2')
    const entries = all.body as unknown as Json[]
    expect(entries).toHaveLength(2)
    expect(entries[0]).toEqual({
      id: expect.any(String) as unknown,
      created_at: expect.any(String) as unknown,
      ip_address: '127.0.0.1',
      payload: {
        actor_id: '00000000-0000-0000-0000-000000000000',
        actor_username: 'service_role',
        actor_via_sso: false,
        action: 'user_deleted',
        log_type: 'team',
        traits: {
          user_id: expect.any(String) as unknown,
          user_email: expect.any(String) as unknown,
          user_phone: '',
        },
      },
    })
    expect(all.headers.get('link')).toContain('</admin/audit?page=2&per_page=2>; rel="next"')
    const actions = async (query: string) =>
      ((await audit(query)).body as unknown as { payload: { action: string } }[]).map(
        ({ payload }) => payload.action,
      )
    expect(await actions('?query=action:deleted')).toEqual(['user_deleted'])
    expect(await actions('?query=author:nobody')).toEqual([])
    expect(new Set(await actions('?query=type:team'))).toEqual(new Set(['user_deleted', 'user_signedup']))
    expectError(await audit('?query=payload:x'), 400, 'validation_failed')
    expectError(await audit('?query=x'), 400, 'validation_failed')
  })
})

describe('POST /invite (1.14)', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ AUTH_DISABLE_SIGNUP: 'true' })
  })
  afterAll(() => server.close())

  it('makes a user without password and mails the link, while sign-up is disabled; again while unconfirmed', async () => {
    const email = anEmail()
    const invite = () =>
      post(server, `/invite?redirect_to=${SITE}/join`, { email, data: { team: 'a' } }, admin)
    const { status, body } = await invite()
    expect(status).toBe(200)
    expect(body).toMatchObject({
      email,
      invited_at: expect.any(String) as unknown,
      confirmation_sent_at: expect.any(String) as unknown,
      user_metadata: { team: 'a' },
    })
    const first = await mailTo(server, email)
    expect(Object.fromEntries(new URL(first.link ?? '').searchParams)).toMatchObject({
      type: 'invite',
      redirect_to: `${SITE}/join`,
    })
    expect((await invite()).body['id']).toBe(body['id'])
    const second = await mailTo(server, email, first.mail)
    expectError(await post(server, '/verify', { type: 'invite', token: first.token }), 403, 'otp_expired')
    expect((await post(server, '/verify', { type: 'invite', token: second.token })).status).toBe(200)
    expectError(await invite(), 422, 'email_exists')
  })

  it('refuses a bad address', async () => {
    expectError(await post(server, '/invite', { email: 'nonsense' }, admin), 400, 'validation_failed')
  })

  it('hides the data of an invited user from who signs up with the address (1.4 step 3)', async () => {
    const open = await startServer({ AUTH_SMTP_MAX_FREQUENCY: '0' })
    try {
      const email = anEmail()
      await post(open, '/invite', { email, data: { salary: 1 } }, admin)
      const { body } = await post(open, '/signup', { email, password: PASSWORD })
      expect(body).toMatchObject({ user_metadata: {}, identities: [] })
    } finally {
      await open.close()
    }
  })
})

describe('POST /admin/generate_link (1.22)', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ AUTH_MAILER_URLPATHS_RECOVERY: '/recovered' })
  })
  afterAll(() => server.close())
  const generate = (body: Json) => post(server, '/admin/generate_link', body, admin)

  it('answers the user with link, code and token, and sends nothing', async () => {
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

  it('makes links for known users of each kind, whose paths follow the settings', async () => {
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

  it('turns a magic link for who is unknown into a sign-up with a random password', async () => {
    const { body } = await generate({ type: 'magiclink', email: anEmail() })
    expect(body['verification_type']).toBe('signup')
    expect((await post(server, '/verify', { type: 'signup', token: body['hashed_token'] })).status).toBe(200)
  })

  it('invites', async () => {
    const { body } = await generate({ type: 'invite', email: anEmail(), data: { a: 1 } })
    expect(body).toMatchObject({ verification_type: 'invite', invited_at: expect.any(String) as unknown })
    expect((await post(server, '/verify', { type: 'invite', token: body['hashed_token'] })).status).toBe(200)
  })

  it('falls back to the referrer for a target that is not allowed (0.6)', async () => {
    const { body } = await generate({
      type: 'magiclink',
      email: anEmail(),
      redirect_to: 'https://evil.example',
    })
    expect(body['redirect_to']).toBe(SITE)
  })

  it('refuses what the contract lists', async () => {
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
