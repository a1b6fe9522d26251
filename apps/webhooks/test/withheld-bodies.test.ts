import { randomBytes } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { publicRoutes } from '../src/routes.js'
import { aPersonalToken } from './support/access-token.js'
import { plain, secretOf, teller } from './support/account-events.js'
import { createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'
import { heldRequest } from './support/held-request.js'
import { personalTokens } from './support/personal-tokens.js'
import { useOAuth } from './support/use-oauth.js'

const KEY = randomBytes(32)
const api = useApi()
const { harness, oauth } = useOAuth({ env: { WEBHOOKS_IDENTITY_EVENTS_SECRETS: secretOf(KEY) } })
const tell = teller(harness, KEY)

const rows = async (table: string, accountId: string) =>
  (await api.db.query(`select from ${table} where account_id = $1`, [accountId])).rows.length

/** An account with a personal token that nobody has used yet. */
async function anAccount() {
  const { accountId, token: accessToken } = await api.anAccount()
  const { id: endpointId } = await createEndpoint(api, accessToken)
  const token = await aPersonalToken(api.db, accountId)
  return {
    accountId,
    endpointId,
    token,
    /** Waits until the token is accepted, which records its first use. */
    accepted: () =>
      waitFor(
        async () => {
          const used = await api.db.query(
            'select from personal_tokens where account_id = $1 and last_used_at is not null',
            [accountId],
          )
          return used.rows.length === 1
        },
        { describe: 'the token is accepted' },
      ),
    revoke: () =>
      api.db.query(
        `update personal_tokens set revoked_at = now(), revoke_reason = 'revoked_by_user' where account_id = $1`,
        [accountId],
      ),
  }
}

const message = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'create_webhook', arguments: { url: 'https://example.com/other' } },
}
const MCP = { accept: 'application/json, text/event-stream' }

describe('a token that is revoked while its owner withholds the body', () => {
  it.each<[string, string, object, Record<string, string>?]>([
    ['POST', '/v1/webhooks', { url: 'https://example.com/other', events: [] }],
    ['PATCH', '/v1/webhooks/{id}', { events: [] }],
    ['POST', '/v1/webhooks/{id}/secret/rotate', {}],
    ['POST', '/v1/webhooks/{id}/recover', { since: '2026-01-01T00:00:00Z' }],
    ['POST', '/mcp', message, MCP],
  ])('changes nothing: %s %s', async (method, path, body, headers = {}) => {
    const account = await anAccount()
    const url = api.url + path.replace('{id}', account.endpointId)
    const held = heldRequest(url, { method, token: account.token, body, headers })
    await account.accepted()
    const endpoint = () =>
      api.db.query('select * from webhook_endpoints where account_id = $1', [account.accountId])
    const { rows: before } = await endpoint()
    await account.revoke()
    const { status, challenge, text } = await held.finish()
    expect([status, text]).toEqual([401, expect.stringContaining('unauthorized') as unknown])
    expect(challenge).toContain('error="invalid_token"')
    expect((await endpoint()).rows).toEqual(before)
    expect(await rows('webhook_recoveries', account.accountId)).toBe(0)
  })
})

it('lets a token take its time while it is valid', async () => {
  const account = await anAccount()
  const body = { url: 'https://example.com/other', events: [] }
  const held = heldRequest(`${api.url}/v1/webhooks`, { method: 'POST', token: account.token, body })
  await account.accepted()
  expect((await held.finish()).status).toBe(200)
  expect(await rows('webhook_endpoints', account.accountId)).toBe(2)
})

it('makes no personal token for a person who signed out everywhere while the body was withheld', async () => {
  const user = harness.identity.addUser()
  const token = personalTokens(harness, oauth).jwt(user)
  const held = heldRequest(`${harness.base}/account/tokens`, { method: 'POST', token, body: { name: 'x' } })
  await waitFor(() => harness.identity.asked.some(({ path }) => path === '/user'), {
    describe: 'the sign-in is checked',
  })
  expect(await tell(plain('user.signed_out', user))).toBe(204)
  const { status, challenge } = await held.finish()
  expect([status, challenge]).toEqual([401, expect.stringContaining('error="invalid_token"')])
  const made = await harness.db.query('select from personal_tokens where account_id = $1', [user.id])
  expect(made.rows).toEqual([])
})

it('decides about the credential after the body on every route that has both', () => {
  const { undocumented, documentation, ...families } = publicRoutes(harness.ctx)
  const routes = [...Object.values(families), ...Object.values(undocumented), documentation].flat()
  const withBoth = routes.filter(({ authenticate, body }) => authenticate && body)
  expect(withBoth.length).toBeGreaterThan(4)
  for (const { path, authenticateAgain } of withBoth)
    expect([path, typeof authenticateAgain]).toEqual([path, 'function'])
})
