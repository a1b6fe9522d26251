import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { OAuthTester } from './support/oauth.js'
import { startHarness, type Harness } from './support/harness.js'

let harness: Harness
let oauth: OAuthTester
beforeAll(async () => {
  harness = await startHarness()
  oauth = new OAuthTester(harness)
})
afterAll(() => harness.close())

describe('the whole way of a client', () => {
  it('registers, signs in, consents, exchanges the code, calls /v1 and refreshes', async () => {
    const user = harness.identity.addUser()
    const client = await oauth.client()
    const authorized = await oauth.authorize(client, user, { state: 'a b+c&d=é' })
    expect(authorized.redirect.searchParams.get('state')).toBe('a b+c&d=é')
    expect(authorized.redirect.searchParams.get('iss')).toBe(harness.base)
    const { status, body } = await oauth.exchange(client, authorized)
    expect([status, body]).toEqual([
      200,
      {
        access_token: expect.stringMatching(/^sva_[0-9A-Za-z]{43}$/) as unknown,
        token_type: 'Bearer',
        expires_in: 3600,
        refresh_token: expect.stringMatching(/^svr_[0-9A-Za-z]{43}$/) as unknown,
        scope: 'mcp:connect',
        email: user.email,
      },
    ])
    expect(await oauth.works(body.access_token)).toBe(true)
    const refreshed = await oauth.refresh(client, body.refresh_token)
    expect(refreshed.status).toBe(200)
    expect(refreshed.body.refresh_token).not.toBe(body.refresh_token)
    expect(await oauth.works(refreshed.body.access_token)).toBe(true)
    expect(await oauth.works('sva_unknown')).toBe(false)
  })
})
