import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aUser, call, expectError, get, post, put, type Json, type Session } from '../support/api.js'
import { FACTOR_ENVIRONMENT, factorSteps } from '../support/factors.js'
import { comeBack, targetOf } from '../support/fake-provider.js'
import { waitForLocks } from '../support/locks.js'
import {
  anId,
  confirmLink,
  identitiesOf,
  link,
  linkAddress,
  startProviderSite,
  type ProviderSite,
} from '../support/provider-site.js'

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
        await waitForLocks(site.server, 1)
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
