import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { hs256Token } from '@signet/testkit'
import {
  anEmail,
  aUser,
  call,
  expectError,
  PASSWORD,
  post,
  type Session,
  type SignedUp,
} from './support/api.js'
import { FACTOR_ENVIRONMENT, factorSteps } from './support/factors.js'
import {
  comeBack,
  depart,
  providerEnv,
  startFakeProvider,
  targetOf,
  type FakeProvider,
} from './support/fake-provider.js'
import { JWT_SECRET, startServer, type TestServer } from './support/server.js'

const NEW_SECRET = `another-${JWT_SECRET}`

describe('once AUTH_JWT_SECRET has changed (docs/keys.md#changing-auth_jwt_secret)', () => {
  let provider: FakeProvider
  let before: TestServer
  let after: TestServer
  beforeAll(async () => {
    provider = await startFakeProvider({
      'POST /v1/oauth/token': { body: { access_token: 'the-token', refresh_token: 'the-refresh-token' } },
    })
    const env = { ...FACTOR_ENVIRONMENT, ...providerEnv('figma', provider.url) }
    before = await startServer(env)
    const { clock, databaseUrl } = before
    after = await startServer(
      { ...env, DATABASE_URL: databaseUrl, AUTH_JWT_SECRET: NEW_SECRET },
      { now: clock.now, databaseNow: () => Promise.resolve(clock.now()) },
    )
  })
  afterAll(async () => {
    await after.close()
    await before.close()
    await provider.close()
  })
  const old = factorSteps(() => before)
  const { challenge, codeOf, enroll, raise, verify } = factorSteps(() => ({ ...after, clock: before.clock }))

  const signIn = async ({ email }: SignedUp): Promise<Session> => {
    const { status, body } = await post(after, '/token?grant_type=password', { email, password: PASSWORD })
    expect(status).toBe(200)
    return body as Session
  }

  it('an authenticator app is refused with a code of its own, until an administrator removes it', async () => {
    const user = await aUser(before)
    const factor = await old.enroll(user)
    await old.raise(user, factor)
    const session = await signIn(user)
    for (let n = 0; n < 2; n += 1) {
      const answer = { challenge_id: await challenge(session, factor.id), code: codeOf(factor) }
      expectError(
        await verify(session, factor.id, answer),
        422,
        'mfa_verification_rejected',
        /An administrator has to remove it/,
      )
    }
    const warnings = after.lines.filter(({ id, level }) => id === factor.id && level === 'warning')
    expect(warnings.map(({ msg }) => msg)).toEqual([
      'the secret of a second factor cannot be read: it was sealed with another AUTH_JWT_SECRET',
    ])
    const { rows } = await after.context.db.query<{ reason: string }>(
      `select payload -> 'traits' ->> 'reason' as reason from audit_log_entries
       where payload ->> 'action' = 'verification_attempted' and payload -> 'traits' ->> 'accepted' = 'false'
         and payload -> 'traits' ->> 'factor_id' = $1`,
      [factor.id],
    )
    expect(rows).toEqual([{ reason: 'unreadable_secret' }])

    const token = hs256Token(NEW_SECRET, { role: 'service_role' })
    const path = `/admin/users/${user.user.id}/factors/${factor.id}`
    expect((await call(after, 'DELETE', path, { token })).status).toBe(200)
    await raise(session, await enroll(session))
  })

  it('one whose setup was not finished only has to be enrolled again', async () => {
    const user = await aUser(before)
    const factor = await old.enroll(user)
    const session = await signIn(user)
    const answer = { challenge_id: await challenge(session, factor.id), code: codeOf(factor) }
    expectError(
      await verify(session, factor.id, answer),
      422,
      'mfa_verification_rejected',
      /Enroll it again$/,
    )
    await raise(session, await enroll(session))
  })

  it('a code from a sign-in through a provider does not work, which is logged', async () => {
    provider.answer('GET /v1/me', {
      body: { id: randomBytes(8).toString('hex'), email: anEmail(), handle: 'Fig' },
    })
    const verifier = randomBytes(32).toString('hex')
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const flow = { code_challenge: challenge, code_challenge_method: 's256' }
    const { state } = await depart(before, 'figma', flow)
    const code = targetOf(await comeBack(before, { code: 'the-code', state })).query['code']
    const body = { auth_code: code, code_verifier: verifier }
    expectError(await post(after, '/token?grant_type=pkce', body), 404, 'flow_state_not_found')
    expect(after.lines).toContainEqual(
      expect.objectContaining({
        level: 'warning',
        id: state,
        msg: expect.stringContaining('AUTH_JWT_SECRET') as unknown,
      }),
    )
  })
})
