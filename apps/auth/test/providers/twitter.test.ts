import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, expectError, post } from '../support/api.js'
import {
  CALLBACK,
  CLIENT_ID,
  CLIENT_SECRET,
  comeBack,
  depart,
  providerEnv,
  startFakeProvider,
  targetOf,
  userOf,
  type FakeProvider,
  type Reply,
  type Seen,
} from '../support/fake-provider.js'
import { startServer, type TestServer } from '../support/server.js'

const encode = (text: string) =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )

const oauthOf = ({ headers }: Seen): Record<string, string> =>
  Object.fromEntries(
    [...(headers['authorization'] ?? '').matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [
      name,
      decodeURIComponent(value ?? ''),
    ]),
  ) as Record<string, string>

describe('twitter, OAuth 1.0a (docs/specification.md#providers)', () => {
  let provider: FakeProvider
  let server: TestServer
  const email = anEmail()

  /** Checks a signature by RFC 5849 section 3.4, without the library under test. */
  function isSigned(seen: Seen, tokenSecret: string): boolean {
    const { oauth_signature: signature, ...oauth } = oauthOf(seen)
    const pairs = Object.entries({ ...oauth, ...seen.query }).map(([name, value]) => [
      encode(name),
      encode(value),
    ])
    const sorted = pairs
      .map((pair) => pair.join('='))
      .sort()
      .join('&')
    const base = [seen.method, encode(`${provider.url}${seen.path}`), encode(sorted)].join('&')
    const key = `${encode(CLIENT_SECRET)}&${encode(tokenSecret)}`
    return createHmac('sha1', key).update(base).digest('base64') === signature
  }
  const guarded = (secret: string, reply: Reply) => (seen: Seen) =>
    isSigned(seen, secret) ? reply : { status: 401 }

  beforeAll(async () => {
    provider = await startFakeProvider()
    const form = (values: Record<string, string>) => ({ body: new URLSearchParams(values).toString() })
    provider.answer(
      'POST /oauth/request_token',
      guarded(
        '',
        form({ oauth_token: 'req', oauth_token_secret: 'req-secret', oauth_callback_confirmed: 'true' }),
      ),
    )
    provider.answer(
      'POST /oauth/access_token',
      guarded('req-secret', form({ oauth_token: 'acc', oauth_token_secret: 'acc-secret' })),
    )
    const profile = {
      id_str: '12',
      email,
      name: 'Twi',
      screen_name: 'twi',
      profile_image_url_https: 'https://t/p.png',
    }
    provider.answer('GET /1.1/account/verify_credentials.json', guarded('acc-secret', { body: profile }))
    server = await startServer(providerEnv('twitter', provider.url))
  })
  afterAll(async () => {
    await server.close()
    await provider.close()
  })

  const leave = async () => {
    const { location } = await depart(server, 'twitter')
    const callback = oauthOf(provider.last('POST /oauth/request_token'))['oauth_callback'] ?? ''
    return { location, callback, state: new URL(callback).searchParams.get('state') ?? '' }
  }

  it('signs every request, keeps the request secret encrypted, and maps the profile', async () => {
    const { location, callback, state } = await leave()
    expect(location.href).toBe(`${provider.url}/oauth/authenticate?oauth_token=req`)
    expect(callback).toBe(`${CALLBACK}?state=${state}`)
    expect(oauthOf(provider.last('POST /oauth/request_token'))['oauth_consumer_key']).toBe(CLIENT_ID)
    const { rows } = await server.context.db.query('select provider_secret from flow_state where id = $1', [
      state,
    ])
    expect(JSON.stringify(rows)).not.toContain('req-secret')
    const target = targetOf(await comeBack(server, { state, oauth_token: 'req', oauth_verifier: 'v' }))
    expect(oauthOf(provider.last('POST /oauth/access_token'))['oauth_verifier']).toBe('v')
    expect(provider.last('GET /1.1/account/verify_credentials.json').query).toEqual({
      include_email: 'true',
      include_entities: 'false',
      skip_status: 'true',
    })
    expect(target.fragment).toMatchObject({ provider: 'twitter', provider_token: 'acc' })
    expect(await userOf(server, target)).toMatchObject({
      email,
      user_metadata: { user_name: 'twi', sub: '12' },
    })
  })

  it('refuses a request token of another flow, and reports a denial', async () => {
    const { state } = await leave()
    const foreign = targetOf(await comeBack(server, { state, oauth_token: 'other', oauth_verifier: 'v' }))
    expect(foreign.query['error_code']).toBe('unexpected_failure')
    const { state: second } = await leave()
    expect(targetOf(await comeBack(server, { state: second, denied: 'req' })).query['error']).toBe(
      'access_denied',
    )
  })

  const PROFILE = 'GET /1.1/account/verify_credentials.json'
  const ACCESS = 'POST /oauth/access_token'

  it.each<[string, string, Reply]>([
    ['refuses the access token', ACCESS, { status: 401, body: 'Invalid request token' }],
    ['breaks the access token call', ACCESS, 'break'],
    ['refuses the profile', PROFILE, { status: 403, body: { errors: [{ code: 64 }] } }],
    ['answers the profile with a page', PROFILE, { body: '<html>' }],
    ['names nobody', PROFILE, { body: {} }],
    ['gives no address', PROFILE, { body: { id_str: '99', screen_name: 'x' } }],
  ])('ends in an error on the site when it %s', async (_name, route, reply) => {
    const { state } = await leave()
    const answered = provider.replace(route, reply)
    const target = targetOf(await comeBack(server, { state, oauth_token: 'req', oauth_verifier: 'v' }))
    provider.answer(route, answered)
    expect(target).toMatchObject({
      base: 'https://app.example.com/',
      query: { error: 'server_error', error_code: 'unexpected_failure' },
      fragment: { error_code: 'unexpected_failure' },
    })
    expect(JSON.stringify(target)).not.toMatch(/secret|127\.0\.0\.1/)
  })

  it.each<Reply>([
    { status: 401, body: 'Could not authenticate you' },
    'break',
    { body: 'nonsense' },
    { body: 'oauth_token=req&oauth_token_secret=req-secret' },
    { body: 'oauth_callback_confirmed=true' },
  ])('answers an error before anybody leaves when there is no request token: %j', async (reply) => {
    const answered = provider.replace('POST /oauth/request_token', reply)
    const { answer } = await depart(server, 'twitter')
    provider.answer('POST /oauth/request_token', answered)
    expectError(answer, 500, 'unexpected_failure')
  })

  it('works once for each request token, also under PKCE', async () => {
    const verifier = 'v'.repeat(50)
    await depart(server, 'twitter', { code_challenge: verifier, code_challenge_method: 'plain' })
    const callback = oauthOf(provider.last('POST /oauth/request_token'))['oauth_callback'] ?? ''
    const state = new URL(callback).searchParams.get('state') ?? ''
    const parameters = { state, oauth_token: 'req', oauth_verifier: 'v' }
    const { query } = targetOf(await comeBack(server, parameters))
    const again = targetOf(await comeBack(server, parameters))
    expect(again.query['error_code']).toBe('flow_state_already_used')
    const body = { auth_code: query['code'], code_verifier: verifier }
    expect((await post(server, '/token?grant_type=pkce', body)).body).toMatchObject({ provider_token: 'acc' })
  })
})
