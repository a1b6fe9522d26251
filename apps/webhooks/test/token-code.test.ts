import { describe, expect, it } from '@jest/globals'
import { lockWaiters } from '@signet/testkit'
import { sha256 } from '../src/credentials/credential.js'
import { pkce } from './support/pkce.js'
import { OAuthTester, type Answer, type TokenAnswer, type OAuthErrorBody } from './support/oauth.js'
import { startHarness } from './support/harness.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth()

const user = () => harness.identity.addUser()

const authorized = (metadata: Record<string, unknown> = {}, parameters = {}) =>
  oauth.authorized(user(), metadata, parameters)

describe('the second use of a code', () => {
  it('is invalid_grant and stops the tokens of the first, both kinds', async () => {
    const { client, grant } = await authorized()
    const first = await oauth.exchange(client, grant)
    expect(await oauth.works(first.body.access_token)).toBe(true)
    const second = await oauth.exchange<OAuthErrorBody>(client, grant)
    expect([second.status, second.body.error]).toEqual([400, 'invalid_grant'])
    expect(await oauth.works(first.body.access_token)).toBe(false)
    expect((await oauth.refresh(client, first.body.refresh_token)).status).toBe(400)
  })

  it('is recognized by another process too, long after the code expired', async () => {
    const { client, grant } = await authorized()
    const first = await oauth.exchange(client, grant)
    await harness.db.query(
      `update oauth_codes set expires_at = now() - interval '1 day', created_at = now() - interval '2 days'
        where code_hash = $1`,
      [sha256(grant.code)],
    )
    await harness.ctx.cleanup.runHourly()
    const other = await startHarness({ env: { WEBHOOKS_DATABASE_URL: harness.databaseUrl } })
    try {
      expect((await new OAuthTester(other).exchange(client, grant)).status).toBe(400)
    } finally {
      await other.close()
    }
    expect(await oauth.works(first.body.access_token)).toBe(false)
  })
})

describe('parallel redemption', () => {
  it('gives ten simultaneous requests exactly one 200, and the grant is revoked afterwards', async () => {
    const { client, grant } = await authorized()
    const answers = await Promise.all(Array.from({ length: 10 }, () => oauth.exchange(client, grant)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 400)])
    const winner = answers.find(({ status }) => status === 200)
    expect(await oauth.works(winner?.body.access_token ?? '')).toBe(false)
  })

  it('is decided by the row: of five that all saw an unused code, one wins', async () => {
    const { client, grant } = await authorized()
    const exchanges: Promise<Answer<TokenAnswer>>[] = []
    await harness.db.transaction(async (tx) => {
      await tx.query('select 1 from oauth_codes where code_hash = $1 for update', [sha256(grant.code)])
      for (let count = 0; count < 5; count += 1) exchanges.push(oauth.exchange(client, grant))
      await lockWaiters(harness.db, 5)
    })
    const answers = await Promise.all(exchanges)
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400])
  })
})

describe('a code that does not fit', () => {
  const refusals: [string, Record<string, string>, string][] = [
    ['another redirect_uri', { redirect_uri: 'http://127.0.0.1:7777/other' }, 'invalid_grant'],
    [
      'another loopback port than was authorized',
      { redirect_uri: 'http://127.0.0.1:7778/callback' },
      'invalid_grant',
    ],
    ['no redirect_uri', { redirect_uri: '' }, 'invalid_request'],
    ['a wrong verifier', { code_verifier: pkce().verifier }, 'invalid_grant'],
    ['no verifier', { code_verifier: '' }, 'invalid_request'],
    ['a short verifier', { code_verifier: 'a'.repeat(42) }, 'invalid_grant'],
    ['a long verifier', { code_verifier: 'a'.repeat(129) }, 'invalid_grant'],
    ['a verifier with other characters', { code_verifier: `${'a'.repeat(43)}!` }, 'invalid_grant'],
    ['an unknown code', { code: `svc_${'a'.repeat(43)}` }, 'invalid_grant'],
    ['a malformed code', { code: "'\u0000" }, 'invalid_grant'],
    ['no code', { code: '' }, 'invalid_request'],
    ['a resource that was not asked for', { resource: 'https://evil.example' }, 'invalid_target'],
  ]

  it.each(refusals)('%s is refused and the code stays usable', async (_, overrides, error) => {
    const { client, grant } = await authorized()
    const { status, body } = await oauth.exchange<OAuthErrorBody>(client, grant, overrides)
    expect([status, body.error]).toEqual([400, error])
    expect((await oauth.exchange(client, grant)).status).toBe(200)
  })

  it('the code of client A with client B is refused and nothing changes', async () => {
    const { client, grant } = await authorized()
    const other = await oauth.client()
    const answer = await oauth.exchange<OAuthErrorBody>(other, grant)
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_grant'])
    const { status, body } = await oauth.exchange(client, grant)
    expect(status).toBe(200)
    expect((await oauth.exchange(other, grant)).status).toBe(400)
    expect(await oauth.works(body.access_token)).toBe(true)
  })

  it('an expired code is refused', async () => {
    const { client, grant } = await authorized()
    await harness.db.query(
      `update oauth_codes set expires_at = now() - interval '1 second', created_at = now() - interval '301 seconds'
        where code_hash = $1`,
      [sha256(grant.code)],
    )
    expect((await oauth.exchange<OAuthErrorBody>(client, grant)).body.error).toBe('invalid_grant')
  })

  it('takes the verifier and challenge of RFC 7636 appendix B', async () => {
    const { client, grant } = await authorized(
      {},
      { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM' },
    )
    const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
    expect((await oauth.exchange(client, { ...grant, verifier })).status).toBe(200)
  })

  it('needs no redirect_uri when none was sent to the authorization endpoint', async () => {
    const client = await oauth.client()
    const { verifier, challenge } = pkce()
    const browser = oauth.browser()
    const url = oauth.authorizeUrl(client.client_id, { redirect_uri: undefined, code_challenge: challenge })
    const consent = await oauth.signIn(browser, await browser.get(url), user())
    const { location } = await browser.submit(consent, '/decision', { decision: 'approve' })
    const code = new URL(location ?? '').searchParams.get('code') ?? ''
    expect((await oauth.exchange(client, { code, verifier }, { redirect_uri: '' })).status).toBe(200)
  })

  it('gives no refresh token to a client that did not register the grant', async () => {
    const { client, grant } = await authorized({ grant_types: ['authorization_code'] })
    const { status, body } = await oauth.exchange<Record<string, unknown>>(client, grant)
    expect([status, 'refresh_token' in body]).toEqual([200, false])
    const refresh = await oauth.refresh<OAuthErrorBody>(client, `svr_${'a'.repeat(43)}`)
    expect([refresh.status, refresh.body.error]).toEqual([400, 'unauthorized_client'])
  })
})
