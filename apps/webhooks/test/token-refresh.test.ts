import { describe, expect, it } from '@jest/globals'
import { sha256 } from '../src/credentials/credential.js'
import type { RegisteredClient, OAuthErrorBody } from './support/oauth.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth()

const user = () => harness.identity.addUser()

const rotatedLongAgo = (token: string) =>
  harness.db.query(
    `update oauth_refresh_tokens set rotated_at = rotated_at - interval '11 seconds' where token_hash = $1`,
    [sha256(token)],
  )

/** How many refresh tokens the grant of a token has ever had. */
async function refreshTokensOf(token: string): Promise<number> {
  const { rows } = await harness.db.query<{ count: number }>(
    `select count(*)::integer as count from oauth_refresh_tokens
      where grant_id = (select grant_id from oauth_refresh_tokens where token_hash = $1)`,
    [sha256(token)],
  )
  return rows[0]?.count ?? 0
}

describe('refresh', () => {
  it('rotates, and leaves the earlier access token valid', async () => {
    const { client, tokens } = await oauth.connect(user())
    const { status, body } = await oauth.refresh(client, tokens.refresh_token)
    expect(status).toBe(200)
    expect(Object.keys(body).sort()).toEqual(Object.keys(tokens).sort())
    expect(body.refresh_token).not.toBe(tokens.refresh_token)
    expect(await oauth.works(tokens.access_token)).toBe(true)
    expect(await oauth.works(body.access_token)).toBe(true)
  })

  it('gives ten simultaneous requests the same successor, and revokes nothing', async () => {
    const { client, tokens } = await oauth.connect(user())
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => oauth.refresh(client, tokens.refresh_token)),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
    expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1)
    const accessTokens = new Set(answers.map(({ body }) => body.access_token))
    expect(accessTokens.size).toBe(10)
    for (const token of accessTokens) expect(await oauth.works(token)).toBe(true)
    expect(await refreshTokensOf(tokens.refresh_token)).toBe(2)
  })

  it('gives a replay within the grace the same successor, also after that was used', async () => {
    const { client, tokens } = await oauth.connect(user())
    const first = await oauth.refresh(client, tokens.refresh_token)
    const replay = await oauth.refresh(client, tokens.refresh_token)
    expect([replay.status, replay.body.refresh_token]).toEqual([200, first.body.refresh_token])
    expect(await oauth.works(first.body.access_token)).toBe(true)
    const second = await oauth.refresh(client, first.body.refresh_token)
    expect(second.body.refresh_token).not.toBe(first.body.refresh_token)
    const again = await oauth.refresh(client, tokens.refresh_token)
    expect(again.body.refresh_token).toBe(first.body.refresh_token)
    expect(await refreshTokensOf(tokens.refresh_token)).toBe(3)
  })

  it('leaves a successor that was used once to end the grant like any other', async () => {
    const { client, tokens } = await oauth.connect(user())
    const successor = (await oauth.refresh(client, tokens.refresh_token)).body.refresh_token
    const newest = (await oauth.refresh(client, successor)).body
    await rotatedLongAgo(successor)
    expect((await oauth.refresh(client, tokens.refresh_token)).body.refresh_token).toBe(successor)
    expect((await oauth.refresh(client, successor)).status).toBe(400)
    expect(await oauth.works(newest.access_token)).toBe(false)
  })

  it('kills the family on a later replay, including the newest tokens', async () => {
    const { client, tokens } = await oauth.connect(user())
    const newest = (await oauth.refresh(client, tokens.refresh_token)).body
    await rotatedLongAgo(tokens.refresh_token)
    const replay = await oauth.refresh<OAuthErrorBody>(client, tokens.refresh_token)
    expect([replay.status, replay.body.error]).toEqual([400, 'invalid_grant'])
    expect(await oauth.works(newest.access_token)).toBe(false)
    expect((await oauth.refresh(client, newest.refresh_token)).status).toBe(400)
  })

  it('cannot be done, nor undone, by another client', async () => {
    const { client, tokens } = await oauth.connect(user())
    const other = await oauth.client()
    await oauth.refresh(client, tokens.refresh_token)
    await harness.db.query(
      `update oauth_refresh_tokens set rotated_at = rotated_at - interval '1 hour' where token_hash = $1`,
      [sha256(tokens.refresh_token)],
    )
    const foreign = await oauth.refresh<OAuthErrorBody>(other, tokens.refresh_token)
    expect([foreign.status, foreign.body.error]).toEqual([400, 'invalid_grant'])
    expect(await oauth.works(tokens.access_token)).toBe(true)
  })

  it('lets the scope shrink but not grow, and keeps the full scope for later', async () => {
    const client: RegisteredClient = {
      client_id: 'svcl_cli',
      redirect_uris: ['http://127.0.0.1/callback'],
      token_endpoint_auth_method: 'none',
    }
    const scope = 'mcp:connect tokens:manage'
    const grant = await oauth.authorize(client, user(), { scope })
    const tokens = (await oauth.exchange(client, grant)).body
    expect(tokens.scope).toBe(scope)
    const narrow = (await oauth.refresh(client, tokens.refresh_token, { scope: 'tokens:manage' })).body
    expect(narrow.scope).toBe('tokens:manage')
    const { status } = await oauth.json('/v1/webhooks', {
      headers: { authorization: `Bearer ${narrow.access_token}` },
    })
    expect(status).toBe(403)
    expect((await oauth.refresh(client, narrow.refresh_token)).body.scope).toBe(scope)
    const { client: ordinary, tokens: few } = await oauth.connect(user())
    const grown = await oauth.refresh<OAuthErrorBody>(ordinary, few.refresh_token, { scope })
    expect([grown.status, grown.body.error]).toEqual([400, 'invalid_scope'])
    expect((await oauth.refresh(ordinary, few.refresh_token)).status).toBe(200)
  })

  it('ends 90 days after the issue of each refresh token', async () => {
    const { client, tokens } = await oauth.connect(user())
    const { rows } = await harness.db.query<{ days: number }>(
      `select round(extract(epoch from expires_at - created_at) / 86400)::integer as days
         from oauth_refresh_tokens where token_hash = $1`,
      [sha256(tokens.refresh_token)],
    )
    expect(rows[0]?.days).toBe(90)
    await harness.db.query(
      `update oauth_refresh_tokens set expires_at = now() - interval '1 second', created_at = now() - interval '90 days'
        where token_hash = $1`,
      [sha256(tokens.refresh_token)],
    )
    expect((await oauth.refresh<OAuthErrorBody>(client, tokens.refresh_token)).body.error).toBe(
      'invalid_grant',
    )
  })

  it.each([`svr_${'a'.repeat(43)}`, 'nonsense', "'\u0000"])('refuses the unknown token %s', async (token) => {
    const { status, body } = await oauth.refresh<OAuthErrorBody>(await oauth.client(), token)
    expect([status, body.error]).toEqual([400, 'invalid_grant'])
  })

  it('keeps to the resources that were granted, ignoring a trailing slash and capitals of scheme and host', async () => {
    const client = await oauth.client()
    const grant = await oauth.authorize(client, user(), { resource: harness.base.replace('http', 'HTTP') })
    const tokens = (await oauth.exchange(client, grant, { resource: `${harness.base}/` })).body
    expect((await oauth.refresh(client, tokens.refresh_token, { resource: `${harness.base}/` })).status).toBe(
      200,
    )
    const other = await oauth.refresh<OAuthErrorBody>(client, tokens.refresh_token, {
      resource: `${harness.base}/v1`,
    })
    expect([other.status, other.body.error]).toEqual([400, 'invalid_target'])
  })
})
