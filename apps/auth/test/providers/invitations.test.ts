import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, expectError, mailTo, post } from '../support/api.js'
import { comeBack, depart, signInWith, targetOf, userOf } from '../support/fake-provider.js'
import {
  anId,
  auditOf,
  identitiesOf,
  startProviderSite,
  type ProviderSite,
} from '../support/provider-site.js'
import { serviceToken } from '../support/tokens.js'

let site: ProviderSite
beforeAll(async () => {
  site = await startProviderSite()
})
afterAll(() => site.close())

describe('invitations through a provider (docs/specification.md#providers and docs/specification.md#account-linking)', () => {
  async function anInvite() {
    const email = anEmail()
    await post(site.server, '/invite', { email, data: { team: 'red' } }, { token: serviceToken() })
    const { token } = await mailTo(site.server, email)
    return { email, invite_token: String(token) }
  }

  it('adds the identity, drops the unconfirmed one, confirms the user and keeps what the inviter wrote', async () => {
    const { email, invite_token } = await anInvite()
    site.github(anId(), { email })
    const user = await userOf(site.server, await signInWith(site.server, 'github', { invite_token }))
    expect(user).toMatchObject({
      email,
      email_confirmed_at: expect.any(String) as unknown,
      user_metadata: { team: 'red' },
    })
    expect(identitiesOf(user)).toEqual(['github'])
    expect(await auditOf(site.server, user['id'])).toContain('invite_accepted')
  })

  it('works while sign-up is disabled', async () => {
    const closed = await startProviderSite({ AUTH_DISABLE_SIGNUP: 'true' })
    try {
      const email = anEmail()
      await post(closed.server, '/invite', { email }, { token: serviceToken() })
      const { token } = await mailTo(closed.server, email)
      closed.github(anId(), { email })
      const target = await signInWith(closed.server, 'github', { invite_token: String(token) })
      expect(target.fragment).toHaveProperty('access_token')
    } finally {
      await closed.close()
    }
  })

  it('refuses an account with other addresses, and the invitation stays open', async () => {
    const { email, invite_token } = await anInvite()
    site.github(anId(), { email: anEmail() })
    const { query } = await signInWith(site.server, 'github', { invite_token })
    expect(query).toMatchObject({ error: 'invalid_request', error_code: 'validation_failed' })
    site.github(anId(), { email: anEmail() }, { email, primary: false })
    expect((await signInWith(site.server, 'github', { invite_token })).fragment).toHaveProperty(
      'access_token',
    )
  })

  it('is accepted once, by one of many at once', async () => {
    const { email, invite_token } = await anInvite()
    const flows = await Promise.all([1, 2, 3, 4].map(() => depart(site.server, 'github', { invite_token })))
    site.github(anId(), { email })
    const answers = await Promise.all(flows.map(({ state }) => comeBack(site.server, { code: 'c', state })))
    const targets = answers.map(targetOf)
    expect(targets.filter(({ fragment }) => 'access_token' in fragment)).toHaveLength(1)
    expect(targets.filter(({ query }) => query['error_code'] === 'invite_not_found')).toHaveLength(3)
    expectError((await depart(site.server, 'github', { invite_token })).answer, 404, 'user_not_found')
  })

  it('is over with its link, at the start as at the end', async () => {
    const { email, invite_token } = await anInvite()
    site.server.clock.advance(86_400_000 - 60_000)
    const { state } = await depart(site.server, 'github', { invite_token })
    site.server.clock.advance(60_000)
    expectError((await depart(site.server, 'github', { invite_token })).answer, 404, 'user_not_found')
    site.github(anId(), { email })
    const { query } = targetOf(await comeBack(site.server, { code: 'c', state }))
    expect(query['error_code']).toBe('invite_not_found')
  })
})
