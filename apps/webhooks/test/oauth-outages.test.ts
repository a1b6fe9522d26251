import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startPrivatePostgres, waitFor, type PrivatePostgres } from '@signet/testkit'
import { startHarness, type Harness } from './support/harness.js'
import { OAuthTester, type RegisteredClient } from './support/oauth.js'
import { everyConnectionLost, failingQueries } from './support/queries.js'

let postgres: PrivatePostgres
let harness: Harness
let oauth: OAuthTester
let client: RegisteredClient
beforeAll(async () => {
  postgres = await startPrivatePostgres()
  await postgres.createDatabase('webhooks')
  harness = await startHarness({ databaseUrl: postgres.url('webhooks') })
  oauth = new OAuthTester(harness)
  client = await oauth.client()
})
afterAll(async () => {
  await harness.close()
  await postgres.remove()
})

describe('the database fails after the redirect URI is known to be good', () => {
  const outage = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  it.each([
    ['temporarily_unavailable', outage],
    ['server_error', new Error('secret detail')],
  ])('the client hears %s, with state and iss', async (code, error) => {
    const answer = await failingQueries(harness.db, { after: 1, error }, () =>
      oauth.browser().get(oauth.authorizeUrl(client.client_id)),
    )
    const query = new URL(answer.location ?? '').searchParams
    expect([answer.status, query.get('error'), query.get('state'), query.get('iss')]).toEqual([
      302,
      code,
      'some state',
      harness.base,
    ])
    expect(answer.location).not.toContain('secret')
  })
})

describe('the OAuth endpoints without their database', () => {
  it('every OAuth endpoint says 503 in its own form, and recovers', async () => {
    await postgres.kill('SIGKILL')
    await everyConnectionLost(harness.db)
    const form = { grant_type: 'refresh_token', refresh_token: 'svr_x', token: 'svr_x' }
    const body = new URLSearchParams({ ...form, client_id: client.client_id })
    const answers = await Promise.all([
      oauth.register<Record<string, unknown>>(),
      oauth.json('/oauth/token', { method: 'POST', body }),
      oauth.json('/oauth/revoke', { method: 'POST', body }),
    ])
    for (const { status, headers, body } of answers) {
      expect([status, body['error'], headers.get('cache-control')]).toEqual([
        503,
        'temporarily_unavailable',
        'no-store',
      ])
      expect([headers.get('retry-after'), headers.get('access-control-allow-origin')]).toEqual(['5', '*'])
    }
    const page = await oauth.browser().get(oauth.authorizeUrl(client.client_id))
    expect([page.status, page.location]).toEqual([503, null])
    expect(page.headers.get('content-type')).toMatch(/^text\/html/)
    // Discovery needs no database.
    expect((await oauth.json('/.well-known/oauth-authorization-server')).status).toBe(200)
    postgres = await postgres.restart()
    await waitFor(
      async () => (await oauth.browser().get(oauth.authorizeUrl(client.client_id))).status === 302,
    )
  })
})
