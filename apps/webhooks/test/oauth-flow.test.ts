import { describe, expect, it } from '@jest/globals'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth()

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

describe('the log of a client on its way', () => {
  it('has on every line of a request the id that the request line has', async () => {
    const before = harness.logLines.length
    const user = harness.identity.addUser()
    const client = await oauth.client()
    await oauth.exchange(client, await oauth.authorize(client, user))
    const lines = harness.logLines
      .slice(before)
      .map((line) => JSON.parse(line) as { msg: string; request_id?: string; path?: string })
    const pathOf = (message: string) => {
      const { request_id: id } = lines.find(({ msg }) => msg === message) ?? {}
      return id && lines.find((line) => line.msg === 'request' && line.request_id === id)?.path
    }
    expect(['client registered', 'sign-in', 'consent decided', 'tokens issued'].map(pathOf)).toEqual([
      '/oauth/register',
      '/sign-in/callback',
      '/oauth/authorize/decision',
      '/oauth/token',
    ])
  })
})
