import { describe, expect, it } from '@jest/globals'
import { credentials, type RegisteredClient } from './support/oauth.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth()

const user = () => harness.identity.addUser()

describe('revocation', () => {
  const revoke = (client: RegisteredClient, token: string, extra: Record<string, string> = {}) =>
    oauth.json('/oauth/revoke', {
      method: 'POST',
      body: new URLSearchParams({ token, ...credentials(client), ...extra }),
    })

  it('of an access token takes effect at once, on that token alone', async () => {
    const { client, tokens } = await oauth.connect(user())
    const { status, body, headers } = await revoke(client, tokens.access_token, {
      token_type_hint: 'refresh_token',
    })
    expect([status, body, headers.get('cache-control')]).toEqual([200, {}, 'no-store'])
    expect(headers.get('content-type')).toMatch(/^application\/json/)
    expect(await oauth.works(tokens.access_token)).toBe(false)
    expect((await oauth.refresh(client, tokens.refresh_token)).status).toBe(200)
  })

  it('of a refresh token ends the grant with its access tokens', async () => {
    const { client, tokens } = await oauth.connect(user(), {
      token_endpoint_auth_method: 'client_secret_post',
    })
    expect((await revoke(client, tokens.refresh_token)).status).toBe(200)
    expect(await oauth.works(tokens.access_token)).toBe(false)
    expect((await oauth.refresh(client, tokens.refresh_token)).status).toBe(400)
    expect((await revoke(client, tokens.refresh_token)).status).toBe(200)
  })

  it('answers 200 for unknown and foreign tokens, which stay as they are', async () => {
    const { tokens } = await oauth.connect(user())
    const other = await oauth.client()
    for (const token of [tokens.access_token, tokens.refresh_token, 'nonsense', "'\u0000"])
      expect((await revoke(other, token)).status).toBe(200)
    expect(await oauth.works(tokens.access_token)).toBe(true)
  })

  it('needs a token and a client', async () => {
    const client = await oauth.client({ token_endpoint_auth_method: 'client_secret_post' })
    const missing = await revoke(client, '')
    const unknown = await revoke({ ...client, client_secret: 'wrong' }, 'x')
    expect([missing.status, missing.body['error']]).toEqual([400, 'invalid_request'])
    expect([unknown.status, unknown.body['error']]).toEqual([401, 'invalid_client'])
  })

  it('during a refresh leaves nothing that works', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { client, tokens } = await oauth.connect(user())
      const [refreshed] = await Promise.all([
        oauth.refresh(client, tokens.refresh_token),
        revoke(client, tokens.refresh_token),
      ])
      expect(await oauth.works(tokens.access_token)).toBe(false)
      if (refreshed.status === 200) {
        expect(await oauth.works(refreshed.body.access_token)).toBe(false)
        expect((await oauth.refresh(client, refreshed.body.refresh_token)).status).toBe(400)
      }
    }
  })
})
