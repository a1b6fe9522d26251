import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { lockWaiters } from '@signet/testkit'
import { anEmail, aUser, call, expectError, get, post, put, type Json, type Session } from '../support/api.js'
import { FACTOR_ENVIRONMENT, factorSteps } from '../support/factors.js'
import { comeBack, depart, signInWith, targetOf, userOf } from '../support/fake-provider.js'
import { admin } from '../support/proof-site.js'
import {
  anId,
  confirmLink,
  identitiesOf,
  link,
  linkAddress,
  startProviderSite,
  type ProviderSite,
} from '../support/provider-site.js'
import { claimsOf } from '../support/tokens.js'

let site: ProviderSite
beforeAll(async () => {
  site = await startProviderSite(FACTOR_ENVIRONMENT)
})
afterAll(() => site.close())

const steps = factorSteps(() => site.server)
const identities = async ({ access_token: token }: Pick<Session, 'access_token'>) =>
  (await get(site.server, '/user', { token })).body
const begin = async (token: string) =>
  (await confirmLink(site.server, await linkAddress(site.server, token, 'figma'))).state

/** Someone with a second factor, and a thief who has only the password. */
async function aVictim() {
  const victim = await aUser(site.server)
  site.figma(anId(), anEmail())
  await link(site.server, victim.access_token, 'figma')
  const raised = await steps.raise(victim, await steps.enroll(victim))
  const thief = await steps.signIn(victim)
  return { victim, raised, thief }
}

describe('sign-in methods of an account with a second factor', () => {
  it('are not added without it', async () => {
    const { thief } = await aVictim()
    const token = { token: thief.access_token }
    expectError(
      await get(site.server, '/user/identities/authorize?provider=github', token),
      401,
      'insufficient_aal',
    )
    expectError(
      await post(site.server, '/token?grant_type=id_token', { link_identity: true, id_token: 'x' }, token),
      401,
      'insufficient_aal',
    )
  })

  it('are not removed without it, so neither is the address', async () => {
    const { victim, raised, thief } = await aVictim()
    const user = await identities(raised)
    const own = (user['identities'] as Json[]).find(({ provider }) => provider === 'email')
    const remove = (token: string) =>
      call(site.server, 'DELETE', `/user/identities/${String(own?.['identity_id'])}`, { token })
    expectError(await remove(thief.access_token), 401, 'insufficient_aal')
    expect(await identities(raised)).toMatchObject({ email: victim.email })
    expect((await remove(raised.access_token)).status).toBe(200)
  })

  it('are not added by a flow that started before there was a factor', async () => {
    const user = await aUser(site.server)
    const weak = await steps.signIn(user)
    const state = await begin(weak.access_token)
    const raised = await steps.raise(user, await steps.enroll(user))
    site.figma(anId(), anEmail())
    const target = targetOf(await comeBack(site.server, { code: 'the-code', state }))
    expect(target.query['error_code']).toBe('session_not_found')
    expect(identitiesOf(await identities(raised))).toEqual(['email'])
  })

  it('are not added by a flow whose session has lost its second factor', async () => {
    const user = await aUser(site.server)
    const raised = await steps.raise(user, await steps.enroll(user))
    const second = await steps.enroll(raised, { friendly_name: 'second' })
    const bySecond = await steps.raise(raised, second)
    const state = await begin(bySecond.access_token)
    expect((await steps.unenroll(bySecond, second.id)).status).toBe(200)
    site.figma(anId(), anEmail())
    const target = targetOf(await comeBack(site.server, { code: 'the-code', state }))
    expect(target.query['error_code']).toBe('insufficient_aal')
    expect(identitiesOf(await identities(bySecond))).toEqual(['email'])
  })

  it.each([
    [
      'removed',
      (token: string, id: string) => call(site.server, 'DELETE', `/user/identities/${id}`, { token }),
    ],
    ['replaced', (token: string) => put(site.server, '/user', { email: anEmail() }, { token })],
  ])(
    'are not %s by a request that was in flight when its session lost the second factor',
    async (_, change) => {
      const { raised } = await aVictim()
      const before = await identities(raised)
      const [{ identity_id: id } = {}] = before['identities'] as Json[]
      const { answer } = await site.server.context.db.transaction(async (tx) => {
        await tx.query('select 1 from users where id = $1 for update', [before['id']])
        const answer = change(raised.access_token, String(id))
        await lockWaiters(site.server.context.db, 1)
        await tx.query(`update sessions set aal = 'aal1', factor_id = null where user_id = $1`, [
          before['id'],
        ])
        return { answer }
      })
      expectError(await answer, 401, 'insufficient_aal')
      const after = await identities(raised)
      expect(identitiesOf(after)).toEqual(identitiesOf(before))
      expect(after).not.toHaveProperty('new_email')
    },
  )

  it('are not added by a flow whose session has ended', async () => {
    const user = await aUser(site.server)
    const other = await steps.signIn(user)
    const state = await begin(user.access_token)
    await post(site.server, '/logout?scope=local', undefined, { token: user.access_token })
    site.figma(anId(), anEmail())
    const target = targetOf(await comeBack(site.server, { code: 'the-code', state }))
    expect(target.query['error_code']).toBe('session_not_found')
    expect(target.fragment).not.toHaveProperty('access_token')
    expect(identitiesOf(await identities(other))).toEqual(['email'])
  })

  it('open no session through a flow whose session ended before the exchange', async () => {
    const user = await aUser(site.server)
    const verifier = anId().padEnd(43, 'x')
    const challenge = { code_challenge: verifier, code_challenge_method: 'plain' }
    const address = await linkAddress(site.server, user.access_token, 'figma', challenge)
    const { state } = await confirmLink(site.server, address)
    site.figma(anId(), anEmail())
    const { query } = targetOf(await comeBack(site.server, { code: 'the-code', state }))
    await post(site.server, '/logout?scope=local', undefined, { token: user.access_token })
    const exchange = { auth_code: query['code'], code_verifier: verifier }
    expectError(await post(site.server, '/token?grant_type=pkce', exchange), 403, 'session_not_found')
  })
})

describe('a sign-in method that is removed', () => {
  const refresh = (token: unknown) =>
    post(site.server, '/token?grant_type=refresh_token', { refresh_token: token })
  const remove = async (session: Pick<Session, 'access_token'>) => {
    const linked = (await identities(session))['identities'] as Json[]
    const id = String(linked.find(({ provider }) => provider === 'github')?.['identity_id'])
    return call(site.server, 'DELETE', `/user/identities/${id}`, { token: session.access_token })
  }
  /** Sessions of one account: by password, and by a provider in both flows. */
  async function sessions() {
    const user = await aUser(site.server)
    site.github(anId(), { email: user.email })
    const { fragment } = await signInWith(site.server, 'github')
    const verifier = anId().padEnd(43, 'x')
    const challenge = { code_challenge: verifier, code_challenge_method: 'plain' }
    const { query } = await signInWith(site.server, 'github', challenge)
    const exchange = { auth_code: query['code'], code_verifier: verifier }
    const byCode = (await post(site.server, '/token?grant_type=pkce', exchange)).body as Session
    return { user, byCode, direct: fragment as unknown as Session }
  }

  it('ends the sessions that it opened, and no others', async () => {
    const { user, byCode, direct } = await sessions()
    expect((await remove(user)).status).toBe(200)
    for (const { refresh_token: token } of [byCode, direct])
      expectError(await refresh(token), 400, 'refresh_token_not_found')
    expect((await refresh(user.refresh_token)).status).toBe(200)
  })

  it('leaves the session that removes it', async () => {
    const { user, byCode, direct } = await sessions()
    expect((await remove(byCode)).status).toBe(200)
    expectError(await refresh(direct.refresh_token), 400, 'refresh_token_not_found')
    expect((await refresh(byCode.refresh_token)).status).toBe(200)
    expect((await refresh(user.refresh_token)).status).toBe(200)
  })

  it('ends a session of an older version, which did not store the provider', async () => {
    const { user, direct } = await sessions()
    await site.server.context.db.query(
      `update sessions set amr = jsonb_build_array((amr -> 0) - 'provider') where user_id = $1`,
      [user.user.id],
    )
    expect((await remove(user)).status).toBe(200)
    expectError(await refresh(direct.refresh_token), 400, 'refresh_token_not_found')
    expect((await refresh(user.refresh_token)).status).toBe(200)
  })

  it('opens no session through the code of its linking', async () => {
    const user = await aUser(site.server)
    const thief = await steps.signIn(user)
    const verifier = anId().padEnd(43, 'x')
    const challenge = { code_challenge: verifier, code_challenge_method: 'plain' }
    const address = await linkAddress(site.server, thief.access_token, 'github', challenge)
    const { state } = await confirmLink(site.server, address)
    site.github(anId(), { email: anEmail() })
    const { query } = targetOf(await comeBack(site.server, { code: 'the-code', state }))
    expect((await remove(user)).status).toBe(200)
    const exchange = { auth_code: query['code'], code_verifier: verifier }
    expectError(await post(site.server, '/token?grant_type=pkce', exchange), 404, 'flow_state_not_found')
  })

  it('opens no session through a sign-in that waits for its removal', async () => {
    const user = await aUser(site.server)
    site.github(anId(), { email: anEmail() })
    await link(site.server, user.access_token, 'github')
    const { state } = await depart(site.server, 'github')
    const { removed, signedIn } = await site.server.context.db.transaction(async (tx) => {
      await tx.query('select 1 from users where id = $1 for update', [user.user.id])
      const removed = remove(user)
      await lockWaiters(site.server.context.db, 1)
      const signedIn = comeBack(site.server, { code: 'the-code', state })
      await lockWaiters(site.server.context.db, 2)
      return { removed, signedIn }
    })
    expect((await removed).status).toBe(200)
    const { fragment } = targetOf(await signedIn)
    // The provider account no longer belongs to a user, so the sign-in creates a new one.
    expect(claimsOf(fragment['access_token'])['sub']).not.toBe(user.user.id)
    expect(identitiesOf(await identities(user))).toEqual(['email'])
  })
})

it('a sign-in that waits for the deletion of its user writes nothing into what is left of the account', async () => {
  const subject = anId()
  site.github(subject, { email: anEmail() })
  const user = await userOf(site.server, await signInWith(site.server, 'github'))
  const challenge = { code_challenge: 'x'.repeat(43), code_challenge_method: 'plain' }
  const { state } = await depart(site.server, 'github', challenge)
  const { deleted, signedIn } = await site.server.context.db.transaction(async (tx) => {
    await tx.query('select 1 from users where id = $1 for update', [user['id']])
    const options = { ...admin, body: { should_soft_delete: true } }
    const deleted = call(site.server, 'DELETE', `/admin/users/${String(user['id'])}`, options)
    await lockWaiters(site.server.context.db, 1)
    const signedIn = comeBack(site.server, { code: 'the-code', state })
    await lockWaiters(site.server.context.db, 2)
    return { deleted, signedIn }
  })
  expect((await deleted).status).toBe(200)
  const code = targetOf(await signedIn).query['code']
  const { rows } = await site.server.context.db.query(
    'select identity_data from identities where user_id = $1',
    [user['id']],
  )
  expect(rows).toEqual([{ identity_data: {} }])
  // The provider account no longer belongs to a user, so the sign-in creates a new one.
  const exchange = { auth_code: code, code_verifier: challenge.code_challenge }
  const { status, body } = await post(site.server, '/token?grant_type=pkce', exchange)
  expect(status).toBe(200)
  expect(claimsOf(body['access_token'])['sub']).not.toBe(user['id'])
})
