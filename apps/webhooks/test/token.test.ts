import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { pkce } from './support/browser.js'
import { lockWaiters } from './support/lock-waiters.js'
import {
  credentials,
  OAuthTester,
  REDIRECT,
  type Answer,
  type RegisteredClient,
  type TokenAnswer,
} from './support/oauth.js'
import { startHarness, type Harness } from './support/harness.js'

let harness: Harness
let oauth: OAuthTester
beforeAll(async () => {
  harness = await startHarness()
  oauth = new OAuthTester(harness)
})
afterAll(() => harness.close())

const user = () => harness.identity.addUser()
const hash = (text: string) => createHash('sha256').update(text).digest()
const basic = (id: string, secret: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
type ErrorBody = { error: string; error_description: string }

async function authorized(metadata: Record<string, unknown> = {}, parameters = {}) {
  const client = await oauth.client(metadata)
  return { client, grant: await oauth.authorize(client, user(), parameters) }
}

describe('H.4 row 23: the second use of a code', () => {
  it('is invalid_grant and stops the tokens of the first, both kinds', async () => {
    const { client, grant } = await authorized()
    const first = await oauth.exchange(client, grant)
    expect(await oauth.works(first.body.access_token)).toBe(true)
    const second = await oauth.exchange<ErrorBody>(client, grant)
    expect([second.status, second.body.error]).toEqual([400, 'invalid_grant'])
    expect(await oauth.works(first.body.access_token)).toBe(false)
    expect((await oauth.refresh(client, first.body.refresh_token)).status).toBe(400)
  })

  it('is recognised by another process too, long after the code expired', async () => {
    const { client, grant } = await authorized()
    const first = await oauth.exchange(client, grant)
    await harness.db.query(
      `update oauth_codes set expires_at = now() - interval '1 day', created_at = now() - interval '2 days'
        where code_hash = $1`,
      [hash(grant.code)],
    )
    await harness.ctx.cleanUp.runHourly()
    const other = await startHarness({ env: { WEBHOOKS_DATABASE_URL: harness.databaseUrl } })
    try {
      expect((await new OAuthTester(other).exchange(client, grant)).status).toBe(400)
    } finally {
      await other.close()
    }
    expect(await oauth.works(first.body.access_token)).toBe(false)
  })
})

describe('H.4 row 24: parallel redemption', () => {
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
      await tx.query('select 1 from oauth_codes where code_hash = $1 for update', [hash(grant.code)])
      for (let count = 0; count < 5; count += 1) exchanges.push(oauth.exchange(client, grant))
      await lockWaiters(harness.db, 5)
    })
    const answers = await Promise.all(exchanges)
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400])
  })
})

describe('H.4 row 25: a code that does not fit', () => {
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
    const { status, body } = await oauth.exchange<ErrorBody>(client, grant, overrides)
    expect([status, body.error]).toEqual([400, error])
    expect((await oauth.exchange(client, grant)).status).toBe(200)
  })

  it('the code of client A with client B is refused and nothing changes', async () => {
    const { client, grant } = await authorized()
    const other = await oauth.client()
    const answer = await oauth.exchange<ErrorBody>(other, grant)
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
      [hash(grant.code)],
    )
    expect((await oauth.exchange<ErrorBody>(client, grant)).body.error).toBe('invalid_grant')
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
    const refresh = await oauth.refresh<ErrorBody>(client, `svr_${'a'.repeat(43)}`)
    expect([refresh.status, refresh.body.error]).toEqual([400, 'unauthorized_client'])
  })
})

describe('H.4 row 26: client authentication', () => {
  const exchange = (
    grant: { code: string; verifier: string },
    form: Record<string, string>,
    authorization?: string,
  ) =>
    oauth.token<ErrorBody>(
      {
        grant_type: 'authorization_code',
        code: grant.code,
        redirect_uri: REDIRECT,
        code_verifier: grant.verifier,
        ...form,
      },
      authorization === undefined ? {} : { authorization },
    )
  const secretOf = (client: RegisteredClient) => client.client_secret ?? ''

  it.each(['client_secret_basic', 'client_secret_post'])(
    '%s clients may use either method',
    async (method) => {
      const one = await authorized({ token_endpoint_auth_method: method })
      expect((await exchange(one.grant, credentials(one.client))).status).toBe(200)
      const two = await authorized({ token_endpoint_auth_method: method })
      const header = basic(two.client.client_id, secretOf(two.client))
      expect((await exchange(two.grant, {}, header)).status).toBe(200)
      const three = await authorized({ token_endpoint_auth_method: method })
      const raw = basic(three.client.client_id, secretOf(three.client))
      expect((await exchange(three.grant, { client_id: three.client.client_id }, raw)).status).toBe(200)
    },
  )

  it('decodes Basic credentials in which everything is percent-encoded', async () => {
    const { client, grant } = await authorized({ token_endpoint_auth_method: 'client_secret_basic' })
    const encode = (text: string) =>
      [...text].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('')
    const header = `basic ${Buffer.from(`${encode(client.client_id)}:${encode(secretOf(client))}`).toString('base64')}`
    expect((await exchange(grant, {}, header)).status).toBe(200)
  })

  it('takes Basic with an empty password for a public client', async () => {
    const { client, grant } = await authorized()
    expect((await exchange(grant, {}, basic(client.client_id, ''))).status).toBe(200)
  })

  it('refuses two methods at once, and a form client_id that differs', async () => {
    const { client, grant } = await authorized({ token_endpoint_auth_method: 'client_secret_basic' })
    const header = basic(client.client_id, secretOf(client))
    const both = await exchange(grant, { client_secret: secretOf(client) }, header)
    const differing = await exchange(grant, { client_id: 'svcl_other' }, header)
    for (const { status, body, headers } of [both, differing])
      expect([status, body.error, headers.get('www-authenticate')]).toEqual([400, 'invalid_request', null])
  })

  it('answers every failure with the same 401', async () => {
    const { client, grant } = await authorized({ token_endpoint_auth_method: 'client_secret_post' })
    const open = await oauth.client()
    const disabled = await oauth.client({ token_endpoint_auth_method: 'client_secret_post' })
    await harness.db.query('update oauth_clients set disabled_at = now() where client_id = $1', [
      disabled.client_id,
    ])
    const id = client.client_id
    const answers = await Promise.all([
      exchange(grant, { client_id: id }),
      exchange(grant, { client_id: id, client_secret: 'wrong' }),
      exchange(grant, { client_id: id, client_secret: `${secretOf(client).slice(0, -1)}-` }),
      exchange(grant, { client_id: `svcl_${'a'.repeat(24)}`, client_secret: 'wrong' }),
      exchange(grant, { client_id: 'nonsense\u0000' }),
      exchange(grant, credentials(disabled)),
      exchange(grant, { client_id: open.client_id, client_secret: 'secret' }),
      exchange(grant, {}, 'Basic !!!'),
      exchange(grant, { client_id: open.client_id }, 'Basic'),
      exchange(grant, {}, `Basic ${Buffer.from('no colon').toString('base64')}`),
      exchange(grant, {}, basic('%zz', 'x')),
      exchange(grant, {}, basic(id, 'wrong')),
      exchange(grant, {}),
    ])
    const challenge =
      'Basic realm="oauth", error="invalid_client", error_description="Client authentication failed"'
    for (const { status, headers, body } of answers)
      expect([status, headers.get('www-authenticate'), body]).toEqual([
        401,
        challenge,
        { error: 'invalid_client', error_description: 'Client authentication failed' },
      ])
    expect((await exchange(grant, credentials(client))).status).toBe(200)
  })
})

describe('H.4 row 27: refresh', () => {
  it('rotates, and leaves the earlier access token valid', async () => {
    const { client, tokens } = await oauth.connect(user())
    const { status, body } = await oauth.refresh(client, tokens.refresh_token)
    expect(status).toBe(200)
    expect(Object.keys(body).sort()).toEqual(Object.keys(tokens).sort())
    expect(body.refresh_token).not.toBe(tokens.refresh_token)
    expect(await oauth.works(tokens.access_token)).toBe(true)
    expect(await oauth.works(body.access_token)).toBe(true)
  })

  it('lets ten simultaneous requests through and revokes nothing', async () => {
    const { client, tokens } = await oauth.connect(user())
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => oauth.refresh(client, tokens.refresh_token)),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
    const refreshTokens = answers.map(({ body }) => body.refresh_token)
    expect(new Set(refreshTokens).size).toBe(10)
    for (const token of refreshTokens) expect((await oauth.refresh(client, token)).status).toBe(200)
  })

  it('forgives a replay within the grace', async () => {
    const { client, tokens } = await oauth.connect(user())
    const first = await oauth.refresh(client, tokens.refresh_token)
    const replay = await oauth.refresh(client, tokens.refresh_token)
    expect(replay.status).toBe(200)
    expect(await oauth.works(first.body.access_token)).toBe(true)
  })

  it('kills the family on a later replay, including the newest tokens', async () => {
    const { client, tokens } = await oauth.connect(user())
    const newest = (await oauth.refresh(client, tokens.refresh_token)).body
    await harness.db.query(
      `update oauth_refresh_tokens set rotated_at = rotated_at - interval '11 seconds' where token_hash = $1`,
      [hash(tokens.refresh_token)],
    )
    const replay = await oauth.refresh<ErrorBody>(client, tokens.refresh_token)
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
      [hash(tokens.refresh_token)],
    )
    const foreign = await oauth.refresh<ErrorBody>(other, tokens.refresh_token)
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
    const grown = await oauth.refresh<ErrorBody>(ordinary, few.refresh_token, { scope })
    expect([grown.status, grown.body.error]).toEqual([400, 'invalid_scope'])
    expect((await oauth.refresh(ordinary, few.refresh_token)).status).toBe(200)
  })

  it('ends 90 days after the issue of each refresh token', async () => {
    const { client, tokens } = await oauth.connect(user())
    const { rows } = await harness.db.query<{ days: number }>(
      `select round(extract(epoch from expires_at - created_at) / 86400)::integer as days
         from oauth_refresh_tokens where token_hash = $1`,
      [hash(tokens.refresh_token)],
    )
    expect(rows[0]?.days).toBe(90)
    await harness.db.query(
      `update oauth_refresh_tokens set expires_at = now() - interval '1 second', created_at = now() - interval '90 days'
        where token_hash = $1`,
      [hash(tokens.refresh_token)],
    )
    expect((await oauth.refresh<ErrorBody>(client, tokens.refresh_token)).body.error).toBe('invalid_grant')
  })

  it.each([`svr_${'a'.repeat(43)}`, 'nonsense', "'\u0000"])('refuses the unknown token %s', async (token) => {
    const { status, body } = await oauth.refresh<ErrorBody>(await oauth.client(), token)
    expect([status, body.error]).toEqual([400, 'invalid_grant'])
  })

  it('keeps to the resources that were granted, ignoring a trailing slash', async () => {
    const client = await oauth.client()
    const grant = await oauth.authorize(client, user(), { resource: harness.base })
    const tokens = (await oauth.exchange(client, grant, { resource: `${harness.base}/` })).body
    expect((await oauth.refresh(client, tokens.refresh_token, { resource: `${harness.base}/` })).status).toBe(
      200,
    )
    const other = await oauth.refresh<ErrorBody>(client, tokens.refresh_token, {
      resource: `${harness.base}/v1`,
    })
    expect([other.status, other.body.error]).toEqual([400, 'invalid_target'])
  })
})

describe('H.4 row 28: form of requests and answers', () => {
  it('is no-store on success and on errors', async () => {
    const { client, grant } = await authorized()
    const good = await oauth.exchange(client, grant)
    const bad = await oauth.exchange(client, grant)
    for (const { headers } of [good, bad]) {
      expect([headers.get('cache-control'), headers.get('pragma')]).toEqual(['no-store', 'no-cache'])
      expect(headers.get('content-type')).toMatch(/^application\/json/)
    }
  })

  it.each([
    ['JSON instead of a form', '{"grant_type":"refresh_token"}', 'application/json', 400, 'invalid_request'],
    ['no content type', 'grant_type=refresh_token', 'text/plain', 400, 'invalid_request'],
    [
      'a repeated parameter',
      'client_id=svcl_a&client_id=svcl_b',
      'application/x-www-form-urlencoded',
      400,
      'invalid_request',
    ],
    ['17 KiB', `code=${'x'.repeat(17 * 1024)}`, 'application/x-www-form-urlencoded', 413, 'invalid_request'],
    ['nothing', '', 'application/x-www-form-urlencoded', 400, 'invalid_request'],
  ])('refuses %s', async (_, body, type, status, error) => {
    const answer = await oauth.json('/oauth/token', {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    })
    expect([answer.status, answer.body['error']]).toEqual([status, error])
  })

  it('takes a charset, a trailing slash and no redirect', async () => {
    const { client, grant } = await authorized()
    const answer = await oauth.json('/oauth/token/', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: client.client_id,
        code: grant.code,
        code_verifier: grant.verifier,
        redirect_uri: REDIRECT,
      }).toString(),
    })
    expect(answer.status).toBe(200)
  })

  it('answers GET with 405, a missing and an unknown grant type with their errors', async () => {
    const client = await oauth.client()
    expect((await oauth.json('/oauth/token')).status).toBe(405)
    const missing = await oauth.token<ErrorBody>(credentials(client))
    const unknown = await oauth.token<ErrorBody>({ ...credentials(client), grant_type: 'password' })
    expect([missing.body.error, unknown.body.error]).toEqual(['invalid_request', 'unsupported_grant_type'])
  })

  it('has an empty email when the account has none', async () => {
    const nameless = harness.identity.addUser({ email: '', phone: '+4915100000000' })
    const client = await oauth.client()
    const browser = oauth.browser()
    const { verifier, challenge } = pkce()
    const page = await browser.get(oauth.authorizeUrl(client.client_id, { code_challenge: challenge }))
    const answer = await browser.submit(page, '/login', {
      identifier: nameless.phone,
      password: nameless.password,
    })
    const consent = await browser.follow(answer)
    const { location } = await browser.submit(consent, '/decision', { decision: 'approve' })
    const code = new URL(location ?? '').searchParams.get('code') ?? ''
    expect((await oauth.exchange(client, { code, verifier })).body.email).toBe('')
  })
})

describe('H.4 row 29: revocation', () => {
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

describe('H.4 row 30: what a dump of the database holds', () => {
  it('no code, token, client secret or session id', async () => {
    const client = await oauth.client({ token_endpoint_auth_method: 'client_secret_post' })
    const grant = await oauth.authorize(client, user())
    const { body } = await oauth.exchange(client, grant)
    const tables = [
      'oauth_clients',
      'oauth_authorizations',
      'oauth_grants',
      'oauth_codes',
      'oauth_access_tokens',
      'oauth_refresh_tokens',
      'login_sessions',
      'personal_tokens',
    ]
    const dump: string[] = []
    for (const table of tables) {
      const { rows } = await harness.db.query<{ row: string }>(`select t::text as row from ${table} t`)
      dump.push(...rows.map(({ row }) => row))
    }
    const text = dump.join('\n')
    const hex = (secret: string) => Buffer.from(secret).toString('hex')
    const session = grant.browser.cookies.get('rws_session') ?? ''
    for (const secret of [
      client.client_secret ?? '',
      grant.code,
      body.access_token,
      body.refresh_token,
      session,
    ]) {
      expect(secret.length).toBeGreaterThan(20)
      expect(text).not.toContain(secret)
      expect(text).not.toContain(hex(secret))
    }
  })
})
