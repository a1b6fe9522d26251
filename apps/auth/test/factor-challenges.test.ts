import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { lockWaiters } from '@signet/testkit'
import { aUser, expectError, get, post, type Json, type Session } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { FACTOR_ENVIRONMENT, factorSteps, methodsOf } from './support/factors.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer(FACTOR_ENVIRONMENT)
})
afterAll(() => server.close())
const { enroll, challenge, codeOf, verify, raise, signIn, refresh, unenroll, factorsOf } = factorSteps(
  () => server,
)

describe('challenge and verify, totp', () => {
  it('raises the session to aal2, with a new refresh token and the amr entry', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const asked = await post(server, `/factors/${factor.id}/challenge`, undefined, {
      token: user.access_token,
    })
    expect(asked.body).toEqual({
      id: expect.any(String) as unknown,
      type: 'totp',
      expires_at: Math.floor(server.clock.now().getTime() / 1000) + 300,
    })
    expect(decodeJwt(user.access_token)).toMatchObject({ aal: 'aal1' })
    server.clock.advance(1000)
    const answer = await verify(user, factor.id, { challenge_id: asked.body['id'], code: codeOf(factor) })
    expect(answer.status).toBe(200)
    const session = answer.body as Session
    expect(decodeJwt(session.access_token)).toMatchObject({
      aal: 'aal2',
      session_id: decodeJwt(user.access_token)['session_id'],
    })
    expect(methodsOf(session.access_token)).toEqual(['totp', 'password'])
    expect(session.refresh_token).not.toBe(user.refresh_token)
    expect(session.user['factors']).toEqual([expect.objectContaining({ id: factor.id, status: 'verified' })])
  })

  it('keeps aal2 over refreshes; a new password sign-in is aal1', async () => {
    const user = await aUser(server)
    const raised = await raise(user, await enroll(user))
    const refreshed = await refresh(raised.refresh_token)
    expect(decodeJwt(refreshed.body['access_token'] as string)).toMatchObject({ aal: 'aal2' })
    expect(methodsOf(refreshed.body['access_token'] as string)).toEqual(['totp', 'password'])
    expect(decodeJwt((await signIn(user)).access_token)).toMatchObject({ aal: 'aal1' })
  })

  it('never yields aal2 for the previous refresh token after the reuse interval', async () => {
    const user = await aUser(server)
    await raise(user, await enroll(user))
    expectError(await refresh(user.refresh_token), 400, 'refresh_token_already_used')
  })

  it('is not found if the factor is removed at the same time', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const { db } = server.context
    const { answer } = await db.transaction(async (tx) => {
      await tx.query('delete from mfa_factors where id = $1', [factor.id])
      const sent = post(server, `/factors/${factor.id}/challenge`, {}, { token: user.access_token })
      await lockWaiters(db, 1)
      return { answer: sent }
    })
    expectError(await answer, 404, 'mfa_factor_not_found')
  })

  it('leaves one chain when a refresh runs at the same time', async () => {
    for (let round = 0; round < 5; round++) {
      const user = await aUser(server)
      const factor = await enroll(user)
      const challengeId = await challenge(user, factor.id)
      const [raised, refreshed] = await Promise.all([
        verify(user, factor.id, { challenge_id: challengeId, code: codeOf(factor) }),
        refresh(user.refresh_token),
      ])
      expect([raised.status, refreshed.status]).toEqual([200, 200])
      // The request that came second returned the newest token. The other one returned the same token or its parent.
      for (const { body } of [refreshed, raised])
        expect((await refresh(body['refresh_token'] as string)).status).toBe(200)
    }
  })

  it('ends every other session of the user below aal2', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const other = await signIn(user)
    const strong = await raise(user, factor)
    expectError(await get(server, '/user', { token: other.access_token }), 403, 'session_not_found')
    const second = await raise(await signIn(user), factor)
    for (const { access_token: token } of [strong, second])
      expect((await get(server, '/user', { token })).status).toBe(200)
  })

  it('removes other unverified factors of the type', async () => {
    const user = await aUser(server)
    const begun = await enroll(user, { friendly_name: 'begun' })
    const factor = await enroll(user, { friendly_name: 'used' })
    const session = await raise(user, factor)
    expect((await factorsOf(session)).map(({ id }) => id)).toEqual([factor.id])
    expectError(await unenroll(session, begun.id), 404, 'mfa_factor_not_found')
  })

  it('answers a wrong code with the text that clients match', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const challengeId = await challenge(user, factor.id)
    const wrong = await verify(user, factor.id, { challenge_id: challengeId, code: '000000' })
    expectError(wrong, 422, 'mfa_verification_failed', /^Invalid TOTP code/)
    expectError(
      await verify(user, factor.id, { challenge_id: challengeId, code: '' }),
      400,
      'validation_failed',
    )
    const right = await verify(user, factor.id, { challenge_id: challengeId, code: codeOf(factor) })
    expect(right.status).toBe(200)
  })

  it('refuses a challenge that was used, and the time step of an accepted code in a new one', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const code = codeOf(factor)
    const used = await challenge(user, factor.id)
    const session = (await verify(user, factor.id, { challenge_id: used, code })).body as Session
    expectError(
      await verify(session, factor.id, { challenge_id: used, code }),
      422,
      'mfa_ip_address_mismatch',
    )
    const fresh = await challenge(session, factor.id)
    expectError(
      await verify(session, factor.id, { challenge_id: fresh, code }),
      422,
      'mfa_verification_failed',
    )
    server.clock.advance(30_000)
    expect((await verify(session, factor.id, { challenge_id: fresh, code: codeOf(factor) })).status).toBe(200)
  })

  it.each(['one challenge', 'several challenges'])(
    'takes one code once, of many at a time against %s',
    async (kind) => {
      const user = await aUser(server)
      const factor = await enroll(user)
      const first = await challenge(user, factor.id)
      const challenges = [first]
      while (challenges.length < 5)
        challenges.push(kind === 'one challenge' ? first : await challenge(user, factor.id))
      const code = codeOf(factor)
      const answers = await Promise.all(
        challenges.map((id) => verify(user, factor.id, { challenge_id: id, code })),
      )
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    },
  )

  it('requires the answer to come from the address that requested the challenge', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const from = (ip: string) => ({ 'X-Forwarded-For': ip })
    const asked = await post(
      server,
      `/factors/${factor.id}/challenge`,
      {},
      { token: user.access_token, headers: from('198.51.100.1') },
    )
    const body = { challenge_id: asked.body['id'], code: codeOf(factor) }
    expectError(await verify(user, factor.id, body, from('198.51.100.2')), 422, 'mfa_ip_address_mismatch')
    expect((await verify(user, factor.id, body, from('198.51.100.1'))).status).toBe(200)
  })

  it('expires challenges after 300 s', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const early = await challenge(user, factor.id)
    server.clock.advance(299_999)
    const late = await challenge(user, factor.id)
    server.clock.advance(1)
    expectError(
      await verify(user, factor.id, { challenge_id: early, code: codeOf(factor) }),
      422,
      'mfa_challenge_expired',
    )
    expect((await verify(user, factor.id, { challenge_id: late, code: codeOf(factor) })).status).toBe(200)
  })

  it('finds neither factors nor challenges of other users', async () => {
    const [user, other] = [await aUser(server), await aUser(server)]
    const [factor, foreign] = [await enroll(user), await enroll(other)]
    const foreignChallenge = await challenge(other, foreign.id)
    const code = codeOf(factor)
    const path = (id: string) => `/factors/${id}/challenge`
    const options = { token: user.access_token }
    expectError(await post(server, path(foreign.id), {}, options), 404, 'mfa_factor_not_found')
    expectError(await post(server, path(randomUUID()), {}, options), 404, 'mfa_factor_not_found')
    expectError(await post(server, path('not-a-uuid'), {}, options), 404, 'validation_failed')
    expectError(
      await verify(user, foreign.id, { challenge_id: foreignChallenge, code }),
      404,
      'mfa_factor_not_found',
    )
    for (const challengeId of [foreignChallenge, randomUUID(), 'not-a-uuid', ''])
      expectError(
        await verify(user, factor.id, { challenge_id: challengeId, code }),
        422,
        'mfa_factor_not_found',
      )
    expectError(await unenroll(user, foreign.id), 404, 'mfa_factor_not_found')
    expectError(await unenroll(user, 'not-a-uuid'), 404, 'validation_failed')
  })

  it('does not accept an unverified factor in place of the verified one', async () => {
    const user = await aUser(server)
    const begun = await enroll(user, { friendly_name: 'by whoever had the password' })
    await raise(user, await enroll(user, { friendly_name: 'mine' }))
    // Verifying a factor drops others of its type, so the test puts the one that was begun first back by hand.
    await server.context.db.query(
      `insert into mfa_factors (id, user_id, friendly_name, factor_type, status, phone, created_at, updated_at)
       values ($1, $2, '', 'phone', 'unverified', '4915112345678', $3, $3)`,
      [begun.id, user.user.id, server.clock.now()],
    )
    await server.context.db.query(`update mfa_factors set factor_type = 'totp', secret = 'x' where id = $1`, [
      begun.id,
    ])
    const weak = await signIn(user)
    const asked = await post(server, `/factors/${begun.id}/challenge`, {}, { token: weak.access_token })
    expectError(asked, 403, 'insufficient_aal')
  })

  it('notifies the user once, when the factor is first verified', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const subject = 'A new verification method was added to your account.'
    expect(server.inbox.messages({ to: user.email, subject })).toHaveLength(0)
    await raise(await raise(user, factor), factor)
    expect(server.inbox.messages({ to: user.email, subject })).toHaveLength(1)
  })

  it('writes the audit log', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const session = await raise(user, factor)
    await unenroll(session, factor.id)
    const { rows } = await server.context.db.query<{ payload: Json }>(
      `select payload from audit_log_entries where payload ->> 'actor_id' = $1 and payload ->> 'log_type' = 'factor'`,
      [user.user.id],
    )
    expect(rows.map(({ payload }) => payload['action']).sort()).toEqual([
      'challenge_created',
      'factor_added',
      'factor_in_progress',
      'factor_unenrolled',
      'verification_attempted',
    ])
    for (const { payload } of rows)
      expect(payload['traits']).toMatchObject({ factor_id: factor.id, factor_type: 'totp' })
  })
})
