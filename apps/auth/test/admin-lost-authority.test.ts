import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { lockWaiters } from '@signet/testkit'
import { authRoutes } from '../src/app.js'
import { gateOf } from '../src/bearer/gates.js'
import {
  anEmail,
  aPhone,
  aUser,
  call,
  PASSWORD,
  post,
  put,
  type ApiAnswer,
  type SignedUp,
} from './support/api.js'
import { FACTOR_ENVIRONMENT, factorSteps } from './support/factors.js'
import { holdTransactions } from './support/held-transactions.js'
import { sendHeads } from './support/late-bodies.js'
import { anAuthenticator, PASSKEY_ENVIRONMENT, passkeySteps } from './support/passkeys.js'
import { startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer({
    ...FACTOR_ENVIRONMENT,
    ...PASSKEY_ENVIRONMENT,
    AUTH_JWT_ADMIN_ROLES: 'supervisor,service_role',
    // A long poll interval, so that only requests begin transactions.
    AUTH_OUTBOX_POLL_INTERVAL: '1h',
  })
})
afterAll(() => server.close())

const factors = factorSteps(() => server)
const passkeys = passkeySteps(() => server)
const service = { token: serviceToken() }
const administer = async (id: string, body: object) => {
  expect((await put(server, `/admin/users/${id}`, body, service)).status).toBe(200)
}
const remove = async (id: string, body: object) => {
  expect((await call(server, 'DELETE', `/admin/users/${id}`, { body, ...service })).status).toBe(200)
}

async function anAdministrator(): Promise<SignedUp> {
  const user = await aUser(server)
  await administer(user.user.id, { role: 'supervisor' })
  return user
}

/** A user whose id is smaller than that of `than`. */
async function aUserBefore(than: SignedUp): Promise<SignedUp> {
  const user = await aUser(server)
  return user.user.id < than.user.id ? user : aUserBefore(than)
}

type Act = { route: string; method: string; path: string; body?: object }

/** Everything that an administrator may do, some of it in more than one way. No action gets in the way of another. */
async function actsOf(chief: SignedUp): Promise<Act[]> {
  const [first, second] = [await aUser(server), await aUser(server)]
  const passkey = await passkeys.register(first, anAuthenticator())
  const [kept, removed] = [
    await factors.enroll(first, { friendly_name: 'one' }),
    await factors.enroll(second, { friendly_name: 'two' }),
  ]
  const users = '/admin/users'
  const [user, factor] = [`${users}/:user_id`, `${users}/:user_id/factors/:factor_id`]
  return [
    { route: `post ${users}`, method: 'POST', path: users, body: { email: anEmail(), password: PASSWORD } },
    { route: `post ${user}`, method: 'POST', path: `${users}/${randomUUID()}`, body: { email: anEmail() } },
    {
      route: `put ${user}`,
      method: 'PUT',
      path: `${users}/${chief.user.id}`,
      body: { role: 'supervisor', ban_duration: 'none' },
    },
    {
      route: `put ${user}`,
      method: 'PUT',
      path: `${users}/${first.user.id}`,
      body: { role: 'supervisor', phone: aPhone() },
    },
    {
      route: `delete ${user}`,
      method: 'DELETE',
      path: `${users}/${(await aUser(server)).user.id}`,
      body: {},
    },
    {
      route: `delete ${user}`,
      method: 'DELETE',
      path: `${users}/${(await aUser(server)).user.id}`,
      body: { should_soft_delete: true },
    },
    {
      route: 'post /admin/generate_link',
      method: 'POST',
      path: '/admin/generate_link',
      body: { type: 'recovery', email: first.email },
    },
    {
      route: 'post /admin/generate_link',
      method: 'POST',
      path: '/admin/generate_link',
      body: { type: 'signup', email: anEmail(), password: PASSWORD },
    },
    { route: 'post /invite', method: 'POST', path: '/invite', body: { email: anEmail() } },
    {
      route: `put ${factor}`,
      method: 'PUT',
      path: `${users}/${first.user.id}/factors/${kept.id}`,
      body: { friendly_name: 'another name' },
    },
    {
      route: `delete ${factor}`,
      method: 'DELETE',
      path: `${users}/${second.user.id}/factors/${removed.id}`,
    },
    {
      route: `delete ${user}/passkeys/:passkey_id`,
      method: 'DELETE',
      path: `${users}/${first.user.id}/passkeys/${passkey.id}`,
    },
  ]
}

const hasBody = (act: Act): act is Act & { body: object } => act.body !== undefined

/** Everything that the acts of an administrator would change, except the administrator's own rows. */
async function state({ user: { id } }: SignedUp): Promise<unknown> {
  const { rows } = await server.context.db.query(
    `select
       (select json_agg(u order by id) from users u where id <> $1) as users,
       (select json_agg(f order by id) from mfa_factors f where user_id <> $1) as factors,
       (select json_agg(c order by id) from webauthn_credentials c where user_id <> $1) as passkeys,
       (select json_agg(s order by id) from sessions s where user_id <> $1) as sessions,
       (select json_agg(o order by id) from one_time_tokens o where user_id <> $1) as tokens,
       (select count(*) from audit_log_entries where payload ->> 'actor_username' = 'supervisor') as acts`,
    [id],
  )
  return rows[0]
}

const attempt = (chief: SignedUp, { method, path, body }: Act): Promise<ApiAnswer> =>
  call(server, method, path, { body, token: chief.access_token, settle: false })

const codesOf = (answers: readonly Pick<ApiAnswer, 'status' | 'body'>[]) =>
  answers.map(({ status, body }) => `${status} ${String(body['error_code'])}`)

/** Ways for administrators to lose their authority, and how the server refuses them afterward. */
const LOSSES: [string, string, (chief: SignedUp) => Promise<unknown>][] = [
  ['was banned', '403 user_banned', ({ user }) => administer(user.id, { ban_duration: '1h' })],
  ['was demoted', '403 not_admin', ({ user }) => administer(user.id, { role: 'authenticated' })],
  ['was deleted softly', '403 user_not_found', ({ user }) => remove(user.id, { should_soft_delete: true })],
  ['was deleted', '403 user_not_found', ({ user }) => remove(user.id, {})],
  [
    'signed out everywhere',
    '403 session_not_found',
    ({ access_token: token }) => post(server, '/logout?scope=global', undefined, { token }),
  ],
  [
    'signed out here',
    '403 session_not_found',
    ({ access_token: token }) => post(server, '/logout?scope=local', undefined, { token }),
  ],
  [
    'showed a second factor elsewhere',
    '403 session_not_found',
    async (chief) => {
      const other = await factors.signIn(chief)
      await factors.raise(other, await factors.enroll(other))
    },
  ],
  [
    'has a second factor that the session lost',
    '401 insufficient_aal',
    async (chief) => {
      await factors.raise(chief, await factors.enroll(chief))
      await server.context.db.query(`update sessions set aal = 'aal1' where user_id = $1`, [chief.user.id])
    },
  ],
]

describe('an administrator', () => {
  it('has a row in the table of these tests for each thing to do', async () => {
    const tried = new Set((await actsOf(await anAdministrator())).map(({ route }) => route))
    const routes = authRoutes(server.context)
      .filter((route) => gateOf(route) === 'admin' && route.method !== 'get')
      .map(({ method, path }) => `${method} ${path}`)
    expect([...tried].sort()).toEqual(routes.sort())
  })

  it('does all of it while nothing is lost', async () => {
    const chief = await anAdministrator()
    const answers = await Promise.all((await actsOf(chief)).map((act) => attempt(chief, act)))
    for (const { status } of answers) expect([200, 204]).toContain(status)
  })

  it.each(LOSSES)('who %s does nothing anymore through requests under way', async (_, refusal, lose) => {
    const chief = await anAdministrator()
    const acts = await actsOf(chief)
    const held = holdTransactions(server, acts.length)
    const answers = acts.map((act) => attempt(chief, act))
    await held.reached()
    await lose(chief)
    const before = await state(chief)
    held.release()
    expect(codesOf(await Promise.all(answers))).toEqual(acts.map(() => refusal))
    expect(await state(chief)).toEqual(before)
  })

  it.each(LOSSES)('who %s does nothing anymore through bodies sent late', async (_, refusal, lose) => {
    const chief = await anAdministrator()
    const acts = (await actsOf(chief)).filter(hasBody)
    const sendBodies = await sendHeads(server, chief.access_token, acts)
    await lose(chief)
    const before = await state(chief)
    expect(codesOf(await sendBodies())).toEqual(acts.map(() => refusal))
    expect(await state(chief)).toEqual(before)
  })

  it('creates no account after the ban was answered, of twelve that were asked for before', async () => {
    const chief = await anAdministrator()
    const emails = Array.from({ length: 12 }, () => anEmail())
    const held = holdTransactions(server, emails.length)
    const answers = emails.map((email) =>
      attempt(chief, {
        route: '',
        method: 'POST',
        path: '/admin/users',
        body: { email, password: PASSWORD },
      }),
    )
    await held.reached()
    await administer(chief.user.id, { ban_duration: '1h' })
    held.release()
    expect(codesOf(await Promise.all(answers))).toEqual(emails.map(() => '403 user_banned'))
    const { rows } = await server.context.db.query('select 1 from users where email = any($1)', [emails])
    expect(rows).toEqual([])
  })

  it('who is at work is banned when that is done', async () => {
    const [chief, victim] = [await anAdministrator(), await aUser(server)]
    const both = await server.context.db.transaction(async (tx) => {
      // The act locks this row last, so it already holds all its other locks.
      await tx.query('select 1 from sessions where user_id = $1 for update', [chief.user.id])
      const path = `/admin/users/${victim.user.id}`
      const change = attempt(chief, { route: '', method: 'PUT', path, body: { role: 'tester' } })
      await lockWaiters(server.context.db, 1)
      const ban = put(server, `/admin/users/${chief.user.id}`, { ban_duration: '1h' }, service)
      await lockWaiters(server.context.db, 2)
      return { change, ban }
    })
    expect((await both.change).status).toBe(200)
    expect((await both.ban).status).toBe(200)
    expect(codesOf([await attempt(chief, { route: '', method: 'PUT', path: '/admin/users/x' })])).toEqual([
      '403 user_banned',
    ])
  })
})

describe('administrators', () => {
  it('who act on one another, and on themselves, at the same time wait for each other', async () => {
    const chiefs = [await anAdministrator(), await anAdministrator()]
    const pairs = chiefs.flatMap((chief) => chiefs.map((other) => ({ chief, other })))
    for (let round = 0; round < 5; round += 1) {
      const answers = pairs.flatMap(({ chief, other: { user, email } }) => {
        const change = { user_metadata: { round } }
        return [
          attempt(chief, { route: '', method: 'PUT', path: `/admin/users/${user.id}`, body: change }),
          attempt(chief, {
            route: '',
            method: 'POST',
            path: '/admin/generate_link',
            body: { type: 'recovery', email },
          }),
          attempt(chief, { route: '', method: 'POST', path: '/admin/users', body: { email } }),
          attempt(chief, { route: '', method: 'POST', path: '/invite', body: { email } }),
        ]
      })
      const expected = pairs.flatMap(() => [
        '200 undefined',
        '200 undefined',
        '422 email_exists',
        '422 email_exists',
      ])
      expect(codesOf(await Promise.all(answers))).toEqual(expected)
    }
  })

  it('who act on an address that changes hands meanwhile wait for each other', async () => {
    const [chief, from] = [await anAdministrator(), await aUser(server)]
    // Other requests lock the new holder before the administrator, because its id is smaller.
    const to = await aUserBefore(chief)
    const { db } = server.context
    const both = await db.transaction(async (session) => {
      // The act locks this row last, so it already holds all its other locks.
      await session.query('select 1 from sessions where user_id = $1 for update', [chief.user.id])
      const link = await db.transaction(async (tx) => {
        await tx.query('update users set email = null where id = $1', [from.user.id])
        const body = { type: 'recovery', email: from.email }
        const act = attempt(chief, { route: '', method: 'POST', path: '/admin/generate_link', body })
        await lockWaiters(server.context.db, 1)
        await tx.query('update users set email = $2 where id = $1', [to.user.id, from.email])
        return { act }
      })
      await lockWaiters(server.context.db, 1)
      const other = attempt(chief, {
        route: '',
        method: 'PUT',
        path: `/admin/users/${to.user.id}`,
        body: { user_metadata: { seen: true } },
      })
      return { ...link, other }
    })
    expect(codesOf([await both.act, await both.other])).toEqual(['200 undefined', '200 undefined'])
  })

  it.each(['a person', 'a program'])('who exchange two addresses wait for each other, as %s', async (who) => {
    const chief = await anAdministrator()
    const token = who === 'a person' ? chief.access_token : service.token
    for (let round = 0; round < 5; round += 1) {
      const [one, other] = [await aUser(server), await aUser(server)]
      const answers = await Promise.all([
        put(server, `/admin/users/${one.user.id}`, { email: other.email }, { token }),
        put(server, `/admin/users/${other.user.id}`, { email: one.email }, { token }),
        put(server, `/admin/users/${one.user.id}`, { email: anEmail() }, { token }),
      ])
      for (const { status } of answers) expect([200, 422]).toContain(status)
    }
  })
})
