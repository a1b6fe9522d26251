import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, expectError, get, post } from '../support/api.js'
import { comeBack, depart, signInWith, targetOf } from '../support/fake-provider.js'
import { anId, startProviderSite, type ProviderSite } from '../support/provider-site.js'

const SITE = 'https://app.example.com/'
const VERIFIER = 'v'.repeat(64)
const CHALLENGE = { code_challenge: VERIFIER, code_challenge_method: 'plain' }

let site: ProviderSite
beforeAll(async () => {
  site = await startProviderSite()
})
afterAll(() => site.close())

const flowsOf = async (state: string) =>
  (await site.server.context.db.query('select * from flow_state where id = $1', [state])).rows

describe('the way out (docs/specification.md#providers)', () => {
  it('is a redirect with a state, and leaves a row behind', async () => {
    const { answer, location, state } = await depart(site.server, 'github')
    expect(answer.status).toBe(302)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(location.searchParams.get('state')).toBe(state)
    expect(await flowsOf(state)).toHaveLength(1)
  })

  it('finds a provider in any letter case', async () => {
    expect((await depart(site.server, 'GitHub')).answer.status).toBe(302)
  })

  it.each(['pigeon', 'spotify', '', 'constructor', '__proto__'])('refuses the provider %j', async (name) => {
    expectError((await depart(site.server, name)).answer, 400, 'validation_failed')
  })

  it.each(['client_id', 'client_secret', 'redirect_uri', 'response_type', 'state', 'code_verifier'])(
    'lets no caller say %s, in any letter case',
    async (name) => {
      const mixed = name.replace(/^./, (letter) => letter.toUpperCase())
      const query = {
        [name]: 'of the caller',
        [mixed]: 'of the caller',
        [name.toUpperCase()]: 'of the caller',
      }
      const { location } = await depart(site.server, 'github', query)
      expect([...location.searchParams.values()]).not.toContain('of the caller')
    },
  )

  it('keeps the challenge of the client to itself and passes other parameters on', async () => {
    const passed = { prompt: 'login', login_hint: 'ann', nonce: 'n' }
    const { location } = await depart(site.server, 'github', { ...CHALLENGE, ...passed, Code_Challenge: 'x' })
    expect(Object.fromEntries(location.searchParams)).toMatchObject(passed)
    const replacing = {
      request: 'e30.e30.',
      Request_URI: 'https://evil.example/r',
      'redirect_uri[]': 'https://evil.example',
    }
    const { location: own } = await depart(site.server, 'github', { ...CHALLENGE, ...replacing })
    for (const name of Object.keys(replacing)) expect(own.searchParams.has(name)).toBe(false)
    expect([...location.searchParams.keys()].filter((name) => /challenge/i.test(name))).toEqual([])
  })

  it.each([
    { code_challenge: 'short', code_challenge_method: 's256' },
    { code_challenge: VERIFIER, code_challenge_method: 'md5' },
  ])('refuses the challenge %j', async (query) => {
    expectError((await depart(site.server, 'github', query)).answer, 400, 'validation_failed')
  })

  it('refuses an invite token that nobody was sent', async () => {
    expectError((await depart(site.server, 'github', { invite_token: 'x' })).answer, 404, 'user_not_found')
  })
})

describe('the way back (docs/specification.md#providers)', () => {
  it.each([
    ['missing', {}, 'bad_oauth_callback'],
    ['empty', { state: '' }, 'bad_oauth_callback'],
    ['no uuid', { state: 'x' }, 'bad_oauth_state'],
    ['unknown', { state: randomUUID() }, 'bad_oauth_state'],
  ])(
    'a state that is %s goes to the site, never to a target of the caller',
    async (_name, parameters, code) => {
      const answer = await comeBack(site.server, {
        code: 'c',
        redirect_to: 'https://other.example.com/x',
        ...parameters,
      })
      expect(answer.status).toBe(303)
      expect(targetOf(answer)).toEqual({
        base: SITE,
        query: {
          error: 'invalid_request',
          error_code: code,
          error_description: expect.any(String) as unknown,
        },
        fragment: {},
      })
    },
  )

  it('names a provider that was switched off while its user was away', async () => {
    const { state } = await depart(site.server, 'github')
    await site.server.context.db.query("update flow_state set provider_type = 'spotify' where id = $1", [
      state,
    ])
    const { query } = targetOf(await comeBack(site.server, { state, code: 'c' }))
    expect(query).toMatchObject({ error: 'invalid_request', error_code: 'oauth_provider_not_supported' })
    expect(await flowsOf(state)).toEqual([])
  })

  it('a state is refused after 300 s', async () => {
    const { state } = await depart(site.server, 'github')
    site.server.clock.advance(300_000)
    const { query } = targetOf(await comeBack(site.server, { code: 'c', state }))
    expect(query['error_code']).toBe('bad_oauth_state')
  })

  it.each([
    ['implicit', {}, 'bad_oauth_state'],
    ['PKCE', CHALLENGE, 'flow_state_already_used'],
  ])('%s: of many callbacks with one state at once exactly one gets through', async (_name, query, code) => {
    site.github(anId(), { email: anEmail() })
    const { state } = await depart(site.server, 'github', query)
    const before = site.provider.seen.length
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => comeBack(site.server, { code: 'c', state })),
    )
    const targets = answers.map(targetOf)
    const won = targets.filter((target) => 'access_token' in target.fragment || 'code' in target.query)
    expect(won).toHaveLength(1)
    // The code went to the provider only once. Many providers revoke the token if they get its code again.
    expect(site.provider.seen.slice(before).filter(({ method }) => method === 'POST')).toHaveLength(1)
    const late = targetOf(await comeBack(site.server, { code: 'c', state }))
    expect(late.query['error_code']).toBe(code)
  })

  it('implicit: the fragment has the session, the provider and its tokens; the row is gone', async () => {
    site.github(anId(), { email: anEmail() })
    const { state } = await depart(site.server, 'github', {
      redirect_to: 'https://other.example.com/cb?keep=1',
    })
    const answer = await comeBack(site.server, { code: 'c', state })
    expect(answer.status).toBe(302)
    const { base, query, fragment } = targetOf(answer)
    expect([base, query]).toEqual(['https://other.example.com/cb', { keep: '1' }])
    expect(Object.keys(fragment)).toEqual([
      'access_token',
      'expires_at',
      'expires_in',
      'provider',
      'provider_token',
      'provider_refresh_token',
      'refresh_token',
      'sb',
      'token_type',
    ])
    expect(fragment).toMatchObject({ provider: 'github', provider_token: 'the-token', token_type: 'bearer' })
    expect(await flowsOf(state)).toHaveLength(0)
  })

  it('PKCE: a wrong verifier spends the code, and the provider tokens with it', async () => {
    site.github(anId(), { email: anEmail() })
    const { state } = await depart(site.server, 'github', CHALLENGE)
    const { query } = targetOf(await comeBack(site.server, { code: 'c', state }))
    const exchange = (code_verifier: string) =>
      post(site.server, '/token?grant_type=pkce', { auth_code: query['code'], code_verifier })
    expectError(await exchange('w'.repeat(64)), 400, 'bad_code_verifier')
    expectError(await exchange(VERIFIER), 404, 'flow_state_not_found')
    expect(await flowsOf(state)).toEqual([])
  })

  it('PKCE: a code hands out the session and the provider tokens once, which wait encrypted', async () => {
    site.github(anId(), { email: anEmail() })
    const { state } = await depart(site.server, 'github', CHALLENGE)
    const { query, fragment } = targetOf(await comeBack(site.server, { code: 'c', state }))
    expect(fragment).toEqual({})
    const stored = JSON.stringify(await flowsOf(state))
    for (const secret of ['the-token', 'the-refresh-token', String(query['code'])])
      expect(stored).not.toContain(secret)
    const body = { auth_code: query['code'], code_verifier: VERIFIER }
    const tries = await Promise.all(
      Array.from({ length: 6 }, () => post(site.server, '/token?grant_type=pkce', body)),
    )
    expect(tries.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(tries.find(({ status }) => status === 200)?.body).toMatchObject({
      provider_token: 'the-token',
      provider_refresh_token: 'the-refresh-token',
      token_type: 'bearer',
    })
    expectError(await post(site.server, '/token?grant_type=pkce', body), 404, 'flow_state_not_found')
  })

  it('PKCE: the code is refused after 300 s', async () => {
    site.github(anId(), { email: anEmail() })
    const { query } = await signInWith(site.server, 'github', CHALLENGE)
    site.server.clock.advance(300_000)
    const body = { auth_code: query['code'], code_verifier: VERIFIER }
    expectError(await post(site.server, '/token?grant_type=pkce', body), 422, 'flow_state_expired')
  })

  it('a user whom another request holds for too long is a conflict, as everywhere', async () => {
    const hasty = await startProviderSite({}, { lockTimeoutMs: 1000 })
    hasty.github(anId(), { email: anEmail() })
    const { state } = await depart(hasty.server, 'github')
    const answer = await hasty.server.context.db.transaction(async (tx) => {
      await tx.query('lock table identities in access exclusive mode')
      return comeBack(hasty.server, { code: 'c', state })
    })
    await hasty.close()
    expect(targetOf(answer).query).toMatchObject({ error: 'server_error', error_code: 'conflict' })
  })

  it('a missing code is an error on the stored target', async () => {
    const { state } = await depart(site.server, 'github', { redirect_to: 'https://other.example.com/cb' })
    const answer = await comeBack(site.server, { state })
    expect(answer.status).toBe(302)
    expect(targetOf(answer)).toMatchObject({
      base: 'https://other.example.com/cb',
      query: { error: 'invalid_request', error_code: 'bad_oauth_callback' },
      fragment: { error_code: 'bad_oauth_callback', sb: '' },
    })
  })

  it('what the provider says is passed on, foreign parameters stay, and the flow is over', async () => {
    const redirect_to = 'https://other.example.com/cb?keep=1&error=mine#old'
    const { state } = await depart(site.server, 'github', { redirect_to })
    const said = { error: 'access_denied', error_description: 'no, thanks' }
    const target = targetOf(await comeBack(site.server, { state, ...said }))
    expect(target.query).toEqual({ keep: '1', ...said })
    expect(target.fragment).toEqual({ ...said, sb: '' })
    expect(await flowsOf(state)).toHaveLength(0)
    const again = targetOf(await comeBack(site.server, { state, code: 'c' }))
    expect(again.query['error_code']).toBe('bad_oauth_state')
  })

  it('an address that the provider does not give is an error, unless it is optional', async () => {
    site.github(anId())
    const { query } = await signInWith(site.server, 'github')
    expect(query).toMatchObject({ error: 'server_error', error_code: 'unexpected_failure' })
    const lenient = await startProviderSite({ AUTH_EXTERNAL_GITHUB_EMAIL_OPTIONAL: 'true' })
    try {
      lenient.github(anId())
      const target = await signInWith(lenient.server, 'github')
      const { body } = await get(lenient.server, '/user', { token: target.fragment['access_token'] })
      expect(body['email']).toBe('')
    } finally {
      await lenient.close()
    }
  })
})
