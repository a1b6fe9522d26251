import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { lockWaiters } from '@signet/testkit'
import type { Live } from '../src/sessions/session.js'
import {
  aUser,
  call,
  expectError,
  get,
  PASSWORD,
  post,
  put,
  type ApiAnswer,
  type Session,
  type SignedUp,
} from './support/api.js'
import { FACTOR_ENVIRONMENT, factorSteps } from './support/factors.js'
import { META } from './support/meta.js'
import { PASSKEY_ENVIRONMENT } from './support/passkeys.js'
import { startServer, type TestServer } from './support/server.js'
import { claimsOf, serviceToken } from './support/tokens.js'

const HOUR_MS = 3_600_000

let server: TestServer
beforeAll(async () => {
  server = await startServer({ ...PASSKEY_ENVIRONMENT, ...FACTOR_ENVIRONMENT })
})
afterAll(() => server.close())

const steps = factorSteps(() => server)
const signIn = (email: string) => post(server, '/token?grant_type=password', { email, password: PASSWORD })
const refresh = (token: unknown) => post(server, '/token?grant_type=refresh_token', { refresh_token: token })
const openSessionsOf = async ({ user }: SignedUp): Promise<number> => {
  const { rows } = await server.context.db.query<{ n: number }>(
    'select count(*)::int as n from sessions where user_id = $1 and revoked_at is null',
    [user.id],
  )
  return rows[0]?.n ?? 0
}
async function liveOf({ access_token: token }: { access_token: string }): Promise<Live> {
  const { sub, session_id: sessionId } = claimsOf(token)
  const live = await server.context.gate.find(String(sub), String(sessionId))
  if (live === null) throw new Error('the session is over')
  return live
}

/** The answer to a sign-in whose password was compared before something else happened to the user. */
async function signInBehind({ user, email }: SignedUp, statement: string): Promise<ApiAnswer> {
  const late = await server.context.db.transaction(async (tx) => {
    await tx.query('select 1 from users where id = $1 for update', [user.id])
    const answer = signIn(email)
    await lockWaiters(server.context.db, 1)
    await tx.query(statement, [user.id])
    return { answer }
  })
  return late.answer
}

describe('a sign-in that is in flight', () => {
  it.each<[string, string, string]>([
    [
      'the password was changed',
      `update users set encrypted_password = 'x' where id = $1`,
      'invalid_credentials',
    ],
    ['the user was banned', `update users set banned_until = 'infinity' where id = $1`, 'user_banned'],
    [
      'the user was deleted softly',
      'update users set deleted_at = now() where id = $1',
      'invalid_credentials',
    ],
    ['the user was deleted', 'delete from users where id = $1', 'invalid_credentials'],
  ])('opens no session after %s', async (_, statement, code) => {
    const user = await aUser(server)
    expectError(await signInBehind(user, statement), 400, code)
    expect(await openSessionsOf(user)).toBeLessThanOrEqual(1)
  })

  it('gets the claims that the user has when the session opens', async () => {
    const user = await aUser(server, { data: { name: 'before' } })
    await put(server, `/admin/users/${user.user.id}`, { role: 'service_role' }, { token: serviceToken() })
    const { status, body } = await signInBehind(
      user,
      `update users set role = 'authenticated', phone = '491511234567', email = 'now-' || email,
         app_metadata = '{"plan": "none"}', user_metadata = '{"name": "after"}' where id = $1`,
    )
    expect(status).toBe(200)
    const now = {
      role: 'authenticated',
      phone: '491511234567',
      email: `now-${user.email}`,
      app_metadata: { plan: 'none' },
      user_metadata: { name: 'after' },
    }
    expect(claimsOf(body['access_token'])).toMatchObject(now)
    expect(body['user']).toMatchObject(now)
  })

  it('gets no tokens when the owner has asked for the deletion of the account', async () => {
    const user = await aUser(server)
    const live = await liveOf(user)
    const late = await server.context.db.transaction(async (tx) => {
      await tx.query('select 1 from users where id = $1 for update', [user.user.id])
      const deletion = server.context.deletions.request(live, { password: PASSWORD, nonce: '' }, META)
      await lockWaiters(server.context.db, 1)
      const answer = signIn(user.email)
      await lockWaiters(server.context.db, 2)
      return { answers: Promise.all([answer, deletion]) }
    })
    const [answer, due] = await late.answers
    expect(due).toBeInstanceOf(Date)
    expectError(answer, 403, 'account_deletion_pending')
  })
})

describe('a session of an account that is about to be deleted', () => {
  /** Marks the account for deletion and leaves the session with all its tokens, as if it had been opened at the same moment. */
  async function pending(): Promise<SignedUp> {
    const user = await aUser(server)
    const due = new Date(server.clock.now().getTime() + 24 * HOUR_MS)
    await server.context.db.query('update users set deletion_due_at = $2 where id = $1', [user.user.id, due])
    return user
  }

  it.each<[string, (user: SignedUp) => Promise<ApiAnswer>]>([
    ['refresh', (user) => refresh(user.refresh_token)],
    ['read its user', ({ access_token: token }) => get(server, '/user', { token })],
    [
      'change the password',
      ({ access_token: token }) => put(server, '/user', { password: 'a new one' }, { token }),
    ],
    [
      'change the address',
      ({ access_token: token }) => put(server, '/user', { email: 'z@example.com' }, { token }),
    ],
    [
      'add a factor',
      ({ access_token: token }) => post(server, '/factors', { factor_type: 'totp' }, { token }),
    ],
    [
      'add a passkey',
      ({ access_token: token }) => post(server, '/passkeys/registration/options', {}, { token }),
    ],
    [
      'sign out others',
      ({ access_token: token }) => post(server, '/logout?scope=others', undefined, { token }),
    ],
  ])('does not %s', async (_, act) => {
    const user = await pending()
    expectError(await act(user), 403, 'account_deletion_pending')
    expect(await openSessionsOf(user)).toBe(1)
  })

  it('does not refresh with the token before either, and stays as it is', async () => {
    const user = await aUser(server)
    expect((await refresh(user.refresh_token)).status).toBe(200)
    await server.context.db.query('update users set deletion_due_at = $2 where id = $1', [
      user.user.id,
      new Date(server.clock.now().getTime() + 24 * HOUR_MS),
    ])
    expectError(await refresh(user.refresh_token), 403, 'account_deletion_pending')
    expect(await openSessionsOf(user)).toBe(1)
  })

  it('has no power through a request that was under way', async () => {
    const user = await aUser(server)
    const late = await server.context.db.transaction(async (tx) => {
      await tx.query(`update users set deletion_due_at = 'infinity' where id = $1`, [user.user.id])
      const answer = put(server, '/user', { data: { z: 1 } }, { token: user.access_token })
      await lockWaiters(server.context.db, 1)
      return { answer }
    })
    expectError(await late.answer, 403, 'account_deletion_pending')
  })

  it('opens no other one', async () => {
    const live = await liveOf(await pending())
    await expect(server.context.sessions.openBesideNow(live)).rejects.toMatchObject({
      code: 'account_deletion_pending',
    })
  })

  it('signs out, by itself and from the pages', async () => {
    const user = await pending()
    const { overviews } = server.context
    const live = await liveOf(user)
    expect(await overviews.endSignIn(live, live.session.signInId, META)).toEqual({ changeCancelled: false })
    const token = user.access_token
    expect((await call(server, 'POST', '/logout?scope=local', { token })).status).toBe(204)
    expect(await openSessionsOf(user)).toBe(0)
  })

  it('shows a second factor on the pages, and keeps the account', async () => {
    const user = await aUser(server)
    const factor = await steps.enroll(user)
    const strong = await steps.raise(user, factor)
    const proof = { password: PASSWORD, nonce: '' }
    await server.context.deletions.request(await liveOf(strong), proof, META)
    const { signedIn } = await server.context.passwords.signIn(
      { email: user.email, password: PASSWORD },
      META,
    )
    const onPages = async () => {
      const live = await server.context.gate.find(user.user.id, signedIn.session.id)
      if (live === null) throw new Error('no session')
      return live
    }
    const { id } = await server.context.challenges.challenge(await onPages(), factor.id, undefined, META)
    const answer = { challenge_id: id, code: steps.codeOf(factor) }
    await server.context.challenges.verify(await onPages(), factor.id, answer, META)
    await server.context.deletions.keep(await onPages(), META)
    expect((await signIn(user.email)).status).toBe(200)
    const { body } = await signIn(user.email)
    expect((await refresh((body as Session).refresh_token)).status).toBe(200)
  })
})
