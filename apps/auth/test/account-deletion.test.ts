import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { databaseNow } from '@signet/db'
import { dateTimeText } from '@signet/language'
import { decodeJwt } from 'jose'
import type { Live } from '../src/sessions/session.js'
import { aUser, call, expectError, get, PASSWORD, post, type Json, type SignedUp } from './support/api.js'
import { FACTOR_ENVIRONMENT, factorSteps } from './support/factors.js'
import { META } from './support/meta.js'
import { NO_EMAIL_GAPS, startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const DEFAULT = { ...FACTOR_ENVIRONMENT, ...NO_EMAIL_GAPS, AUTH_MAILER_AUTOCONFIRM: 'true' }
const NOTHING = { password: '', nonce: '' }

let server: TestServer
beforeAll(async () => {
  server = await startServer(DEFAULT)
})
afterAll(() => server.close())
const { enroll, raise } = factorSteps(() => server)

async function liveOf({ access_token: token }: { access_token: string }, at = server): Promise<Live> {
  const { sub = '', session_id: sessionId } = decodeJwt(token)
  const live = await at.context.gate.find(sub, String(sessionId))
  if (live === null) throw new Error('the session is over')
  return live
}

const signIn = ({ email }: SignedUp, at = server) =>
  post(at, '/token?grant_type=password', { email, password: PASSWORD })
const refresh = (token: unknown) => post(server, '/token?grant_type=refresh_token', { refresh_token: token })
const deleteUser = async ({ user }: SignedUp, should_soft_delete: boolean) => {
  const options = { token: serviceToken(), body: { should_soft_delete } }
  expect((await call(server, 'DELETE', `/admin/users/${user.id}`, options)).status).toBe(200)
}
const request = async (user: SignedUp, proof: Partial<typeof NOTHING> = { password: PASSWORD }) =>
  server.context.deletions.request(await liveOf(user), { ...NOTHING, ...proof }, META)

/** Signs a person in as the pages do: their session has no tokens. */
async function onPages(user: SignedUp): Promise<Live> {
  const { signedIn } = await server.context.passwords.signIn({ email: user.email, password: PASSWORD }, META)
  const live = await server.context.gate.find(user.user.id, signedIn.session.id)
  if (live === null) throw new Error('no session')
  return live
}

async function eventsAbout({ user }: SignedUp, at = server): Promise<unknown[]> {
  const { rows } = await at.context.db.query<{ payload: { action: string } }>(
    `select payload from audit_log_entries
     where coalesce(payload -> 'traits' ->> 'user_id', payload ->> 'actor_id') = $1 and payload ->> 'action' like 'user_del%'
     order by created_at`,
    [user.id],
  )
  return rows.map(({ payload }) => payload.action)
}

const finishDue = () =>
  server.context.deletions.finish({ aborted: false }, (error) => {
    throw error
  })

describe('the deletion of an account by its owner', () => {
  it('signs out everywhere, and leaves nothing but a sign-in that can keep the account', async () => {
    const user = await aUser(server)
    const due = await request(user)
    expect(due).toEqual(new Date(server.clock.now().getTime() + 7 * DAY))
    expectError(await get(server, '/user', { token: user.access_token }), 403, 'session_not_found')
    expectError(await refresh(user.refresh_token), 400, 'refresh_token_not_found')
    expectError(await signIn(user), 403, 'account_deletion_pending')
    const notice = await server.inbox.waitForMail({ to: user.email, subject: 'Your account will be deleted' })
    expect(notice.text).toContain(` ${dateTimeText('en', due ?? new Date(0))}`)
    expect(notice.links).toContain('https://auth.example.com/auth/v1/ui/account')
    const keeping = await onPages(user)
    await server.context.deletions.keep(keeping, META)
    // Keeping the account has ended the session of the refused sign-in, and any other that waited for this decision.
    const { rows } = await server.context.db.query(
      'select id from sessions where user_id = $1 and revoked_at is null',
      [user.user.id],
    )
    expect(rows).toEqual([{ id: keeping.session.id }])
    expect((await signIn(user)).status).toBe(200)
    server.clock.advance(8 * DAY)
    await server.context.cleanup.run()
    expect((await signIn(user)).status).toBe(200)
    expect(await eventsAbout(user)).toEqual(['user_deletion_requested', 'user_deletion_cancelled'])
  })

  it('needs the password, and guesses at it count', async () => {
    const guarded = await startServer({ ...DEFAULT, AUTH_SECURITY_SIGN_IN_ATTEMPTS: '3' })
    try {
      const user = await aUser(guarded)
      const live = await liveOf(user, guarded)
      const attempt = (password: string) =>
        guarded.context.deletions.request(live, { password, nonce: '' }, META)
      await expect(attempt('')).rejects.toMatchObject({ code: 'current_password_invalid' })
      const more = await Promise.allSettled(Array.from({ length: 6 }, (_, n) => attempt(`wrong ${n}`)))
      expect(more.map((one) => one.status === 'rejected' && (one.reason as Json)['code'])).toContain(
        'over_request_rate_limit',
      )
    } finally {
      await guarded.close()
    }
  })

  it('needs a code by email where there is no password, and the code works once', async () => {
    const user = await aUser(server)
    await server.context.db.query('update users set encrypted_password = null where id = $1', [user.user.id])
    await expect(request(user, { nonce: '000000' })).rejects.toMatchObject({
      code: 'reauthentication_not_valid',
    })
    await server.context.reauthentications.sendNonce((await liveOf(user)).user, META)
    await server.settled()
    const mail = await server.inbox.waitForMail({ to: user.email, subject: /verification code/ })
    const nonce = /\b(\d{6})\b/.exec(mail.text)?.[1] ?? ''
    expect(await request(user, { nonce })).toBeInstanceOf(Date)
    const { rows } = await server.context.db.query('select 1 from one_time_tokens where user_id = $1', [
      user.user.id,
    ])
    expect(rows).toEqual([])
  })

  it('needs the second factor of who has one, also to be taken back', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    await raise(user, factor)
    const weak = (await signIn(user)).body as SignedUp
    await expect(request({ ...user, ...weak })).rejects.toMatchObject({ code: 'insufficient_aal' })
    const strong = await raise((await signIn(user)).body as SignedUp, factor)
    await request({ ...user, ...strong })
    await expect(server.context.deletions.keep(await onPages(user), META)).rejects.toMatchObject({
      code: 'insufficient_aal',
    })
  })

  it('is finished by exactly one of many replicas, and told to other services once', async () => {
    // Keeps the due date of this account apart from those of other tests.
    server.clock.advance(HOUR)
    const user = await aUser(server)
    await request(user)
    server.clock.advance(7 * DAY - 1000)
    await finishDue()
    expect(await eventsAbout(user)).toEqual(['user_deletion_requested'])
    server.clock.advance(2000)
    const finished = await Promise.all(Array.from({ length: 6 }, () => finishDue()))
    expect(finished.reduce((sum, count) => sum + count, 0)).toBe(1)
    await server.settled()
    expect(await eventsAbout(user)).toEqual(['user_deletion_requested', 'user_deleted'])
    await server.inbox.waitForMail({ to: user.email, subject: 'Your account was deleted' })
    expectError(await signIn(user), 400, 'invalid_credentials')
    expect((await post(server, '/signup', { email: user.email, password: PASSWORD })).status).toBe(200)
  })

  it.each<[string, (user: SignedUp) => Promise<unknown>]>([
    ['was requested', (user) => request(user)],
    [
      'has happened',
      async (user) => {
        await request(user)
        server.clock.advance(8 * DAY)
        await finishDue()
      },
    ],
    ['was done by an administrator', (user) => deleteUser(user, false)],
    ['was done by an administrator who keeps the row', (user) => deleteUser(user, true)],
  ])('leaves no refresh token that works, once it %s', async (_, end) => {
    const user = await aUser(server)
    // Within the reuse interval, in which the previous token still returns the current one.
    const { body: next } = await refresh(user.refresh_token)
    const other = (await signIn(user)).body
    await end(user)
    for (const token of [next['refresh_token'], user.refresh_token, other['refresh_token']])
      expectError(await refresh(token), 400, 'refresh_token_not_found')
    const { rows } = await server.context.db.query(
      'select 1 from sessions where user_id = $1 and revoked_at is null',
      [user.user.id],
    )
    expect(rows).toEqual([])
  })

  it('gives way to an administrator who keeps the row', async () => {
    const user = await aUser(server)
    await request(user)
    await deleteUser(user, true)
    server.clock.advance(8 * DAY)
    await finishDue()
    const { rows } = await server.context.db.query('select deletion_due_at from users where id = $1', [
      user.user.id,
    ])
    expect(rows).toEqual([{ deletion_due_at: null }])
  })

  it('happens by the clock of the database, no matter how wrong that of a process is', async () => {
    const fast = await startServer(DEFAULT, { databaseNow })
    try {
      const user = await aUser(fast)
      await fast.context.deletions.request(await liveOf(user, fast), { ...NOTHING, password: PASSWORD }, META)
      fast.clock.advance(400 * DAY)
      await fast.context.cleanup.run()
      const { rows } = await fast.context.db.query<{ is_due: boolean }>(
        `select deletion_due_at < now() + interval '1 year' as is_due from users`,
      )
      expect(rows).toEqual([{ is_due: true }])
    } finally {
      await fast.close()
    }
  })

  it('tells other services of the sign-out at once and of the deletion when it happens', async () => {
    const told = await startServer({
      ...DEFAULT,
      AUTH_EVENTS_URL: 'http://127.0.0.1:9/never',
      AUTH_EVENTS_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    })
    try {
      const user = await aUser(told)
      const live = await liveOf(user, told)
      const types = async () => {
        const { rows } = await told.context.db.query<{ payload: string }>(
          `select payload from outbox where kind = 'account_event' order by created_at`,
        )
        return rows.map(({ payload }) => (JSON.parse(payload) as { type: string }).type)
      }
      await told.context.deletions.request(live, { password: PASSWORD, nonce: '' }, META)
      expect(await types()).toEqual(['user.signed_out'])
      told.clock.advance(8 * DAY)
      await told.context.cleanup.run()
      expect(await types()).toEqual(['user.signed_out', 'user.deleted'])
    } finally {
      await told.close()
    }
  })

  it('happens at once without a grace period', async () => {
    const hasty = await startServer({ ...DEFAULT, AUTH_ACCOUNT_DELETION_GRACE: '0' })
    try {
      const user = await aUser(hasty)
      const live = await liveOf(user, hasty)
      expect(await hasty.context.deletions.request(live, { password: PASSWORD, nonce: '' }, META)).toBeNull()
      const { rows } = await hasty.context.db.query('select 1 from users where id = $1', [user.user.id])
      expect(rows).toEqual([])
    } finally {
      await hasty.close()
    }
  })
})

describe('what an account holds', () => {
  it('lists open sessions, and ends one of them but nobody else’s', async () => {
    const [user, other] = [await aUser(server), await aUser(server)]
    const second = (await signIn(user)).body as SignedUp
    const live = await liveOf(user)
    const { overviews } = server.context
    const openOf = async ({ user: { id } }: SignedUp) => (await overviews.openSignIns(id, null)).rows
    const listed = await openOf(user)
    expect(listed.map(({ id }) => id).sort()).toEqual(
      [live.session.id, (await liveOf(second)).session.id].sort(),
    )
    await overviews.endSignIn(live, (await liveOf(other)).session.id, META)
    expect((await openOf(other)).length).toBe(1)
    await overviews.endSignIn(live, (await liveOf(second)).session.id, META)
    expect((await openOf(user)).map(({ id }) => id)).toEqual([live.session.id])
    expectError(
      await post(server, '/token?grant_type=refresh_token', { refresh_token: second.refresh_token }),
      400,
      'refresh_token_not_found',
    )
  })

  it('shows what happened to one person, with attempts of others at the password', async () => {
    const [user, other] = [await aUser(server), await aUser(server)]
    await post(server, '/token?grant_type=password', { email: user.email, password: 'wrong password' })
    await signIn(user)
    const { overviews } = server.context
    const shown = (await overviews.recentActivity(user.user.id)).map(({ action }) => action)
    expect(shown).toEqual(expect.arrayContaining(['login', 'login_failed', 'user_signedup']))
    expect((await overviews.recentActivity(other.user.id)).map(({ action }) => action)).not.toContain(
      'login_failed',
    )
  })

  it('is exported without anything that opens it', async () => {
    const user = await aUser(server, { data: { name: 'Ann' } })
    const factor = await enroll(user)
    const strong = await raise(user, factor)
    const made = await post(server, '/recovery-codes', {}, { token: strong.access_token })
    const text = JSON.stringify(await server.context.overviews.export(await liveOf(strong)))
    const { rows } = await server.context.db.query<{ secret: string; hash: string }>(
      `select f.secret, u.encrypted_password as hash from users u join mfa_factors f on f.user_id = u.id where u.id = $1`,
      [user.user.id],
    )
    for (const held of [user.email, 'Ann', factor.id, '"recovery_codes_left":10', 'node'])
      expect(text).toContain(held)
    for (const secret of [
      factor.totp.secret,
      rows[0]?.secret,
      rows[0]?.hash,
      (made.body['codes'] as string[])[0],
    ])
      expect(text).not.toContain(secret)
  })
})
