import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  anEmail,
  aUser,
  call,
  get,
  mailTo,
  PASSWORD,
  post,
  put,
  type Json,
  type SignedUp,
} from './support/api.js'
import { factorSteps } from './support/factors.js'
import { NO_EMAIL_GAPS, startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

describe('the audit log', () => {
  const entriesOf = async (server: TestServer, userId: string) => {
    const { rows } = await server.context.db.query<{ payload: Json; ip: string }>(
      `select payload, ip_address as ip from audit_log_entries
       where payload ->> 'actor_id' = $1 order by created_at`,
      [userId],
    )
    return rows
  }

  it('records who did what from where, in the transaction of the change and in the log', async () => {
    const server = await startServer({ AUTH_SECURITY_FORWARDED_FOR_ENABLED: 'true' })
    try {
      const email = anEmail()
      const headers = { 'X-Forwarded-For': '192.0.2.7' }
      const { body } = await post(
        server,
        '/signup',
        { email, password: 'correct horse battery', data: { full_name: 'Ada' } },
        { headers },
      )
      const [entry] = await entriesOf(server, String(body['id']))
      // The entry leaves out the name, because the person has not proven yet that the address is theirs.
      expect(entry).toEqual({
        ip: '192.0.2.7',
        payload: {
          actor_id: body['id'],
          actor_username: email,
          actor_via_sso: false,
          action: 'user_confirmation_requested',
          log_type: 'user',
          traits: { provider: 'email' },
        },
      })
      expect(server.lines).toContainEqual(
        expect.objectContaining({
          msg: 'audit',
          action: 'user_confirmation_requested',
          ip_address: '192.0.2.7',
        }),
      )
    } finally {
      await server.close()
    }
  })

  it('is not stored in the database when that is disabled', async () => {
    const server = await startServer({
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_AUDIT_LOG_DISABLE_POSTGRES: 'true',
    })
    try {
      const user = await aUser(server)
      await post(server, '/token?grant_type=password', { email: user.email, password: user.password })
      await post(server, '/token?grant_type=refresh_token', { refresh_token: user.refresh_token })
      const { rows } = await server.context.db.query('select 1 from audit_log_entries')
      expect(rows).toEqual([])
      expect(server.lines.filter(({ msg }) => msg === 'audit').map(({ action }) => action)).toEqual(
        expect.arrayContaining(['user_signedup', 'login', 'token_refreshed']),
      )
    } finally {
      await server.close()
    }
  })
})

describe('every action of the audit log', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      ...NO_EMAIL_GAPS,
      AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '0',
      AUTH_SECURITY_FORWARDED_FOR_ENABLED: 'true',
    })
  })
  afterAll(() => server.close())
  const admin = { token: serviceToken() }
  const { enroll } = factorSteps(() => server)
  /** Audit entries that `work` causes, oldest first. They come from the log, which has them whether or not they are stored. */
  const entriesDuring = async (work: () => Promise<unknown>) => {
    const before = server.lines.length
    await work()
    return server.lines.slice(before).filter(({ msg }) => msg === 'audit')
  }
  const signIn = ({ email }: SignedUp) =>
    post(server, '/token?grant_type=password', { email, password: PASSWORD })

  const OWN: [string, string, (user: SignedUp, asUser: { token: string }) => Promise<unknown>][] = [
    ['login', 'account', (user) => signIn(user)],
    ['logout', 'account', (_, asUser) => post(server, '/logout', undefined, asUser)],
    [
      'token_refreshed',
      'token',
      ({ refresh_token }) => post(server, '/token?grant_type=refresh_token', { refresh_token }),
    ],
    [
      'token_revoked',
      'token',
      ({ refresh_token }) => post(server, '/token?grant_type=refresh_token', { refresh_token }),
    ],
    ['user_modified', 'user', (_, asUser) => put(server, '/user', { data: { a: 1 } }, asUser)],
    ['user_recovery_requested', 'user', ({ email }) => post(server, '/recover', { email })],
    ['user_reauthenticate_requested', 'user', (_, asUser) => get(server, '/reauthenticate', asUser)],
    ['user_repeated_signup', 'user', ({ email }) => post(server, '/signup', { email, password: PASSWORD })],
    [
      'user_updated_password',
      'user',
      (_, asUser) => put(server, '/user', { password: 'another horse battery' }, asUser),
    ],
    ['factor_in_progress', 'factor', (user) => enroll(user)],
  ]

  it.each(OWN)('%s, of type %s, by the user', async (action, type, work) => {
    const user = await aUser(server)
    const entries = await entriesDuring(() => work(user, { token: user.access_token }))
    expect(entries.find((entry) => entry['action'] === action)).toMatchObject({
      log_type: type,
      actor_id: user.user.id,
      actor_username: user.email,
      actor_via_sso: false,
    })
  })

  it('user_signedup and invite_accepted, by the person who follows the link', async () => {
    const [email, invited] = [anEmail(), anEmail()]
    await post(server, '/signup', { email, password: PASSWORD })
    await post(server, '/invite', { email: invited }, admin)
    for (const [to, kind, action, type] of [
      [email, 'signup', 'user_signedup', 'team'],
      [invited, 'invite', 'invite_accepted', 'account'],
    ] as const) {
      const { token } = await mailTo(server, to)
      const entries = await entriesDuring(() => post(server, '/verify', { type: kind, token }))
      expect(entries).toMatchObject([{ action, log_type: type, actor_username: to }])
    }
  })

  const BY_ADMIN: [string, string, (user: SignedUp) => Promise<unknown>][] = [
    ['user_invited', 'team', () => post(server, '/invite', { email: anEmail() }, admin)],
    ['user_signedup', 'team', () => post(server, '/admin/users', { email: anEmail() }, admin)],
    ['user_modified', 'user', ({ user }) => put(server, `/admin/users/${user.id}`, { role: 'other' }, admin)],
    ['user_deleted', 'team', ({ user }) => call(server, 'DELETE', `/admin/users/${user.id}`, admin)],
    [
      'factor_updated',
      'factor',
      async (user) => {
        const { id } = await enroll(user)
        await put(server, `/admin/users/${user.user.id}/factors/${id}`, { friendly_name: 'x' }, admin)
      },
    ],
    [
      'factor_deleted',
      'factor',
      async (user) => {
        const { id } = await enroll(user)
        await call(server, 'DELETE', `/admin/users/${user.user.id}/factors/${id}`, admin)
      },
    ],
  ]

  it.each(BY_ADMIN)('%s, of type %s, by an administrator', async (action, type, work) => {
    const user = await aUser(server)
    const entries = await entriesDuring(() => work(user))
    expect(entries.find((entry) => entry['action'] === action)).toMatchObject({
      log_type: type,
      actor_username: 'service_role',
      traits: {
        user_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
        user_email: expect.stringContaining('@') as unknown,
        user_phone: '',
      },
    })
  })
})
