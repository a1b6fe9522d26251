import { describe, expect, it } from '@jest/globals'
import { lockWaiters } from '@signet/testkit'
import type { RegisteredClient } from './support/oauth.js'
import type { User } from './support/identity-double.js'
import { personalTokens } from './support/personal-tokens.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth()

const { bearer, jwt, create, list, revoke } = personalTokens(harness, oauth)
/** A token of the command-line tool's client. */
async function manageToken(user: User, scope = 'mcp:connect tokens:manage') {
  const client: RegisteredClient = {
    client_id: 'svcl_cli',
    redirect_uris: ['http://127.0.0.1/callback'],
    token_endpoint_auth_method: 'none',
  }
  return (await oauth.exchange(client, await oauth.authorize(client, user, { scope }))).body.access_token
}

describe('who may manage tokens', () => {
  it('a fresh user JWT, or an access token with tokens:manage', async () => {
    const user = harness.identity.addUser()
    expect((await create(jwt(user, 14 * 60))).status).toBe(201)
    expect((await create(await manageToken(user))).status).toBe(201)
    expect((await create(await manageToken(user, 'tokens:manage'))).status).toBe(201)
    expect(await list(user)).toHaveLength(3)
  })

  it('not a personal token, nor an ordinary access token: 403', async () => {
    const user = harness.identity.addUser()
    const { body } = await create(jwt(user))
    const { tokens } = await oauth.connect(user)
    for (const token of [body.token, tokens.access_token]) {
      const answers = await Promise.all([
        create(token),
        oauth.json('/account/tokens', { headers: bearer(token) }),
        revoke(token, body.id),
      ])
      for (const { status, body: error, headers } of answers) {
        expect([status, (error as { error?: { code: string } }).error?.code]).toEqual([403, 'forbidden'])
        expect(headers.get('www-authenticate')).toContain('error="insufficient_scope"')
      }
    }
  })

  it('not a JWT older than 15 minutes, nor nothing: 401', async () => {
    const user = harness.identity.addUser()
    expect((await create(jwt(user, 15 * 60 + 2))).status).toBe(401)
    expect((await create('nonsense')).status).toBe(401)
    expect((await oauth.json('/account/tokens')).status).toBe(401)
  })

  it('not for the tokens of another account: 404, as for an unknown or impossible id', async () => {
    const [owner, other] = [harness.identity.addUser(), harness.identity.addUser()]
    const { body } = await create(jwt(owner))
    const answers = await Promise.all(
      [body.id, '999999', '0', '-1', '1e3', 'abc', '9223372036854775808', '%00'].map((id) =>
        revoke(jwt(other), id),
      ),
    )
    const [first] = answers
    for (const answer of answers) expect([answer.status, answer.body]).toEqual([404, first?.body])
    expect(await oauth.works(body.token)).toBe(true)
  })

  it('revokes one token at once, and only once', async () => {
    const user = harness.identity.addUser()
    const { body } = await create(jwt(user))
    expect(await oauth.works(body.token)).toBe(true)
    const { status, body: ok } = await revoke(jwt(user), body.id)
    expect([status, ok]).toEqual([200, { ok: true }])
    expect(await oauth.works(body.token)).toBe(false)
    expect((await revoke(jwt(user), body.id)).status).toBe(404)
    expect(await list(user)).toEqual([])
  })

  it('lets a personal token revoke itself, and nothing else do it through that path', async () => {
    const user = harness.identity.addUser()
    const { body } = await create(jwt(user))
    const { tokens } = await oauth.connect(user)
    expect((await revoke(tokens.access_token, 'current')).status).toBe(403)
    expect((await revoke(jwt(user), 'current')).status).toBe(401)
    expect((await revoke(body.token, 'current')).body).toEqual({ ok: true })
    expect((await revoke(body.token, 'current')).status).toBe(401)
  })
})

describe('an account that was signed out everywhere', () => {
  it('loses sessions, grants and personal tokens at once, and older JWTs open nothing', async () => {
    const user = harness.identity.addUser()
    const { client, tokens } = await oauth.connect(user)
    const personal = (await create(jwt(user))).body
    const grant = await oauth.authorize(client, user)
    const oldJwt = jwt(user)
    await harness.ctx.accounts.signOut(user.id, new Date(), 'signed_out', { requestId: 'test' })
    expect(await oauth.works(tokens.access_token)).toBe(false)
    expect(await oauth.works(personal.token)).toBe(false)
    expect((await oauth.refresh(client, tokens.refresh_token)).status).toBe(401)
    expect((await oauth.exchange(client, grant)).status).toBe(401)
    expect((await create(oldJwt)).status).toBe(401)
    const page = await grant.browser.get(oauth.authorizeUrl(client.client_id))
    expect(page.location).toContain('/ui?')
  })

  it('wins against a decision that is made at the same moment', async () => {
    const user = harness.identity.addUser()
    const client = await oauth.client()
    const browser = oauth.browser()
    const consent = await oauth.signIn(browser, await browser.get(oauth.authorizeUrl(client.client_id)), user)
    const started: Promise<unknown>[] = []
    await harness.db.transaction(async (tx) => {
      // Blocks the decision while its grant exists but is not visible yet.
      await tx.query('select 1 from oauth_clients where client_id = $1 for update', [client.client_id])
      started.push(browser.submit(consent, '/decision', { decision: 'approve' }))
      await lockWaiters(harness.db, 1)
      started.push(harness.ctx.accounts.signOut(user.id, new Date(), 'signed_out', { requestId: 'test' }))
      await lockWaiters(harness.db, 2)
    })
    await Promise.all(started)
    const { rows } = await harness.db.query<{ revoked: boolean }>(
      'select revoked_at is not null as revoked from oauth_grants where account_id = $1',
      [user.id],
    )
    expect(rows).toEqual([{ revoked: true }])
  })
})
