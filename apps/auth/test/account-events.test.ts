import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { readConfig } from '../src/config/read-config.js'
import { MAX_OPEN_SESSIONS } from '../src/sessions/session.js'
import { aUser, call, post, put } from './support/api.js'
import { EVENTS_SECRET, startEventsReceiver } from './support/events-receiver.js'
import { startServer, type TestServer } from './support/server.js'
import { claimsOf, serviceToken } from './support/tokens.js'

let server: TestServer
let receiver: Awaited<ReturnType<typeof startEventsReceiver>>
beforeAll(async () => {
  receiver = await startEventsReceiver()
  server = await startServer(
    { AUTH_MAILER_AUTOCONFIRM: 'true', AUTH_EVENTS_URL: receiver.url, AUTH_EVENTS_SECRET: EVENTS_SECRET },
    { now: () => new Date() },
  )
})
afterAll(async () => {
  await server.close()
  await receiver.close()
})

const admin = () => ({ token: serviceToken() })
const ban = (id: string, duration: string) =>
  put(server, `/admin/users/${id}`, { ban_duration: duration }, admin())
const sessionOf = (jwt: string) => claimsOf(jwt)['session_id']
const typesOf = (userId: string) => receiver.about(userId).map(({ event }) => event.type)
const untilTold = (userId: string, count: number) =>
  waitFor(() => receiver.about(userId).length >= count && receiver.about(userId))
const waiting = async () => {
  const { rows } = await server.context.db.query<{ n: number }>(
    `select count(*)::int as n from outbox where kind = 'account_event'`,
  )
  return rows[0]?.n
}

describe('account events', () => {
  it('leave as soon as they are committed, whoever wrote them, without a poll of the outbox', async () => {
    const idle = await startServer(
      {
        AUTH_MAILER_AUTOCONFIRM: 'true',
        AUTH_OUTBOX_POLL_INTERVAL: '1h',
        AUTH_EVENTS_URL: receiver.url,
        AUTH_EVENTS_SECRET: EVENTS_SECRET,
        AUTH_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: '0s',
      },
      { now: () => new Date() },
    )
    const told = async (
      type: string,
      cause: (user: Awaited<ReturnType<typeof aUser>>) => Promise<unknown>,
    ) => {
      const signedIn = await aUser(idle)
      await cause(signedIn)
      await untilTold(signedIn.user.id, 1)
      expect(typesOf(signedIn.user.id)).toEqual([type])
    }
    const asAdmin = { ...admin(), settle: false }
    const pathOf = ({ user }: { user: { id: string } }) => `/admin/users/${user.id}`
    const refresh = (token: unknown) =>
      post(idle, '/token?grant_type=refresh_token', { refresh_token: token }, { settle: false })
    try {
      await told('user.signed_out', ({ access_token: token }) =>
        post(idle, '/logout?scope=global', undefined, { token, settle: false }),
      )
      await told('user.banned', (user) => put(idle, pathOf(user), { ban_duration: '24h' }, asAdmin))
      const softly = { ...asAdmin, body: { should_soft_delete: true } }
      await told('user.deleted', (user) => call(idle, 'DELETE', pathOf(user), softly))
      await told('user.deleted', (user) => call(idle, 'DELETE', pathOf(user), asAdmin))
      await told('user.sessions_ended', async ({ refresh_token: stolen }) => {
        const next = await refresh(stolen)
        await refresh(next.body['refresh_token'])
        await refresh(stolen)
      })
      const { db, stores } = idle.context
      await told('user.sessions_ended', async ({ user }) => {
        await db.query(
          `insert into sessions (id, user_id, aal, created_at, updated_at, amr, refresh_salt)
           select gen_random_uuid(), $1, 'aal1', now(), now(), '[]', sha256('salt') from generate_series(1, $2)`,
          [user.id, MAX_OPEN_SESSIONS],
        )
        await stores.sessionBounds.makeRoom(db, user.id, new Date())
      })
      await told('user.deleted', ({ user }) => db.transaction((tx) => stores.users.remove(tx, user.id)))
    } finally {
      await idle.close()
    }
  })

  it('report a ban and its end, signed as Standard Webhooks', async () => {
    const { user } = await aUser(server)
    await ban(user.id, '24h')
    await ban(user.id, 'none')
    const told = await untilTold(user.id, 2)
    expect(told.map(({ event, signedRight }) => [event.type, signedRight])).toEqual([
      ['user.banned', true],
      ['user.unbanned', true],
    ])
    const until = Date.parse(told[0]?.event.data.banned_until ?? '')
    expect(until - Date.parse(told[0]?.event.timestamp ?? '')).toBeGreaterThan(23.9 * 3_600_000)
    expect(new Set(told.map(({ id }) => id)).size).toBe(2)
  })

  it.each([
    ['softly', { should_soft_delete: true }],
    ['for good', {}],
  ])('report a user deleted %s, once', async (_how, body) => {
    const { user } = await aUser(server)
    await call(server, 'DELETE', `/admin/users/${user.id}`, { ...admin(), body })
    await untilTold(user.id, 1)
    await call(server, 'DELETE', `/admin/users/${user.id}`, admin())
    await waitFor(async () => (await waiting()) === 0)
    expect(typesOf(user.id)).toEqual(['user.deleted'])
  })

  it('report changes made outside the API: by the clean-up, or by an operator in the database', async () => {
    const { db } = server.context
    const [forgotten, banned] = [await aUser(server), await aUser(server)]
    await db.query('update users set banned_until = $2 where id = $1', [banned.user.id, 'infinity'])
    await db.query('delete from users where id = any ($1)', [[forgotten.user.id]])
    await untilTold(forgotten.user.id, 1)
    await untilTold(banned.user.id, 1)
    expect(typesOf(forgotten.user.id)).toEqual(['user.deleted'])
    expect(receiver.about(banned.user.id)).toMatchObject([
      { event: { type: 'user.banned', data: { banned_until: '9999-12-31T00:00:00.000000Z' } } },
    ])
    await db.query('update users set banned_until = null where id = $1', [banned.user.id])
  })

  it('report a sign-out everywhere once, and that of a single session by its id', async () => {
    const { user, access_token: token, email, password } = await aUser(server)
    await post(server, '/logout?scope=local', {}, { token })
    const signedIn = await post(server, '/token?grant_type=password', { email, password })
    const before = Date.now()
    await post(server, '/logout?scope=global', {}, { token: String(signedIn.body['access_token']) })
    const [one, all] = await untilTold(user.id, 2)
    expect(typesOf(user.id)).toEqual(['user.sessions_ended', 'user.signed_out'])
    expect(one?.event.data).toEqual({ user_id: user.id, session_ids: [sessionOf(token)] })
    expect(Date.parse(all?.event.timestamp ?? '')).toBeGreaterThanOrEqual(before)
  })

  it('report which sessions a sign-out of the others ended, and not those that had ended before', async () => {
    const { user, email, password, access_token: first } = await aUser(server)
    const again = async () => {
      const { body } = await post(server, '/token?grant_type=password', { email, password })
      return String(body['access_token'])
    }
    const [second, kept] = [await again(), await again()]
    await post(server, '/logout?scope=others', {}, { token: kept })
    await post(server, '/logout?scope=others', {}, { token: kept })
    await post(server, '/logout?scope=local', {}, { token: kept })
    const [others, own] = await untilTold(user.id, 2)
    expect(new Set(others?.event.data.session_ids)).toEqual(new Set([first, second].map(sessionOf)))
    expect(own?.event.data.session_ids).toEqual([sessionOf(kept)])
  })

  it('report the session that a stolen refresh token ended', async () => {
    const { user, access_token: token, refresh_token: stolen } = await aUser(server)
    const refresh = (refreshToken: unknown) =>
      post(server, '/token?grant_type=refresh_token', { refresh_token: refreshToken })
    const next = await refresh(stolen)
    await refresh(next.body['refresh_token'])
    expect((await refresh(stolen)).status).toBe(400)
    const [told] = await untilTold(user.id, 1)
    expect(told?.event).toMatchObject({
      type: 'user.sessions_ended',
      data: { session_ids: [sessionOf(token)] },
    })
  })

  it('report more sessions than fit into one event in several', async () => {
    const { user, access_token: token } = await aUser(server)
    const { rows } = await server.context.db.query<{ id: string }>(
      `insert into sessions (id, user_id, aal, created_at, updated_at, amr, refresh_salt)
       select gen_random_uuid(), user_id, aal, created_at, updated_at, amr, refresh_salt
       from sessions, generate_series(1, 450) where id = $1 returning id`,
      [sessionOf(token)],
    )
    await post(server, '/logout?scope=others', {}, { token })
    const told = await untilTold(user.id, 3)
    const ended = told.flatMap(({ event }) => event.data.session_ids ?? [])
    expect(ended.sort()).toEqual(rows.map(({ id }) => id).sort())
  })

  it('report the end of all sessions when an administrator sets a new password', async () => {
    const { user } = await aUser(server)
    await put(
      server,
      `/admin/users/${user.id}`,
      { password: 'another correct horse' },
      { ...admin(), versioned: true },
    )
    await untilTold(user.id, 1)
    expect(typesOf(user.id)).toEqual(['user.signed_out'])
  })

  it('do not report a change that is rolled back', async () => {
    const { user } = await aUser(server)
    const { db } = server.context
    await db
      .transaction(async (tx) => {
        await tx.query(`update users set banned_until = now() + interval '1 day' where id = $1`, [user.id])
        throw new Error('no')
      })
      .catch(() => undefined)
    await ban(user.id, '1h')
    await untilTold(user.id, 1)
    expect(typesOf(user.id)).toEqual(['user.banned'])
  })

  it('are repeated until accepted, in the order of the decisions', async () => {
    const { user } = await aUser(server)
    receiver.answerWith(503)
    const before = receiver.attempts()
    await ban(user.id, '24h')
    await ban(user.id, 'none')
    await ban(user.id, '48h')
    await waitFor(() => receiver.attempts() > before + 2)
    expect(await waiting()).toBe(3)
    receiver.answerWith(204)
    await untilTold(user.id, 3)
    expect(typesOf(user.id)).toEqual(['user.banned', 'user.unbanned', 'user.banned'])
    await waitFor(async () => (await waiting()) === 0)
  })

  it('are due again within the five seconds when the sender is killed while the receiver hangs', async () => {
    const { user } = await aUser(server)
    const { db, config } = server.context
    receiver.hang(true)
    try {
      await put(server, `/admin/users/${user.id}`, { ban_duration: '1h' }, { ...admin(), settle: false })
      await waitFor(() => receiver.hanging() > 0)
      const arrivedAt = Date.now()
      const { rows } = await db.query<{ due: Date }>(
        `select next_attempt_at as due from outbox where kind = 'account_event' and payload like '%' || $1 || '%'`,
        [user.id],
      )
      const dueMs = (rows[0]?.due.getTime() ?? Infinity) - arrivedAt
      expect(dueMs + config.outboxPollInterval).toBeLessThanOrEqual(4500)
    } finally {
      receiver.hang(false)
    }
    await untilTold(user.id, 1)
  })
})

it('leave no row behind when no receiver is configured', async () => {
  const quiet = await startServer({ AUTH_MAILER_AUTOCONFIRM: 'true' }, { now: () => new Date() })
  try {
    const { user } = await aUser(quiet)
    await put(quiet, `/admin/users/${user.id}`, { ban_duration: '24h' }, admin())
    await waitFor(async () => {
      const { rows } = await quiet.context.db.query('select from outbox')
      return rows.length === 0
    })
  } finally {
    await quiet.close()
  }
})

it.each([
  [{ AUTH_EVENTS_URL: 'http://webhooks:8083/' }, /AUTH_EVENTS_URL and AUTH_EVENTS_SECRET go together/],
  [{ AUTH_EVENTS_SECRET: EVENTS_SECRET }, /AUTH_EVENTS_URL and AUTH_EVENTS_SECRET go together/],
  [
    { AUTH_EVENTS_URL: 'http://webhooks:8083/', AUTH_EVENTS_SECRET: 'short' },
    /AUTH_EVENTS_SECRET must be whsec_/,
  ],
])('prevent a start with settings that cannot work: %p', (env, problem) => {
  const complete = {
    AUTH_SITE_URL: 'https://app.example.com',
    AUTH_API_EXTERNAL_URL: 'https://auth.example.com',
    AUTH_DB_DRIVER: 'postgres',
    DATABASE_URL: 'postgres://localhost/x',
    AUTH_JWT_SECRET: 'test-secret-0123456789-abcdefghijklmnopqrstuvwxyz',
    AUTH_EXTERNAL_EMAIL_ENABLED: 'false',
  }
  expect(() => readConfig({ ...complete, ...env })).toThrow(problem)
})

it('do not end at other services what the first proof of an address starts', async () => {
  const own = await startServer({ AUTH_EVENTS_URL: receiver.url, AUTH_EVENTS_SECRET: EVENTS_SECRET })
  try {
    const { user } = await aUser(own)
    await put(own, `/admin/users/${user.id}`, { ban_duration: '1h' }, admin())
    await untilTold(user.id, 1)
    // Events of a user arrive in order, so a sign-out would have come first.
    expect(typesOf(user.id)).toEqual(['user.banned'])
  } finally {
    await own.close()
  }
})
