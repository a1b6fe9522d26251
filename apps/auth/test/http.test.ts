import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createTestDatabase, waitFor } from '@signet/testkit'
import { anEmail, aUser, call, expectError, get, PASSWORD, post } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { createPasswordHasher } from '../src/passwords/password-hasher.js'
import { providers } from '../src/providers/definitions/index.js'

describe('ground rules of every endpoint', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_CORS_ALLOWED_HEADERS: 'X-Own',
      REQUEST_ID_HEADER: 'X-Correlation-Id',
    })
  })
  afterAll(() => server.close())
  const token = '/token?grant_type=password'

  it('reads JSON regardless of the content type, with and without a trailing slash', async () => {
    const { email } = await aUser(server)
    for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded'])
      for (const path of [token, token.replace('?', '/?')]) {
        const body = JSON.stringify({ email, password: PASSWORD })
        expect((await post(server, path, body, { headers: { 'Content-Type': type } })).status).toBe(200)
      }
  })

  it('accepts the grant and all other members from a urlencoded form too', async () => {
    const { email } = await aUser(server)
    const form = String(new URLSearchParams({ grant_type: 'password', email, password: PASSWORD }))
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
    expect((await post(server, '/token', form, { headers })).status).toBe(200)
  })

  it('refuses a body over 1 MiB with 413', async () => {
    const big = JSON.stringify({ email: anEmail(), data: { x: 'x'.repeat(1024 * 1024) } })
    expectError(await post(server, '/signup', big), 413, 'request_entity_too_large')
  })

  it.each(['{', '[]', '"text"', '1', 'null', '', '{"email":1}', '{"data":[]}', '{"data":"x"}'])(
    'refuses the body %j as bad_json',
    async (body) => {
      expectError(await post(server, '/signup', body), 400, 'bad_json')
    },
  )

  it.each(['password', 'refresh_token', 'pkce', 'id_token'])(
    'refuses an empty body for the %s grant as bad_json, and after that missing members as themselves',
    async (grant) => {
      expectError(await post(server, `/token?grant_type=${grant}`), 400, 'bad_json')
      const { status, text } = await post(server, `/token?grant_type=${grant}`, {})
      expect([status, text.includes('bad_json')]).toEqual([400, false])
    },
  )

  it('ignores unknown members and treats null as absent', async () => {
    const body = {
      email: anEmail(),
      password: PASSWORD,
      code_challenge: null,
      code_challenge_method: null,
      options: [1],
    }
    expect((await post(server, '/signup', body)).status).toBe(200)
  })

  it('answers an unknown path and a wrong method as JSON', async () => {
    expectError(await get(server, '/nope'), 404, 'not_found')
    expectError(await get(server, '/%E0%A4%A'), 404, 'not_found')
    const wrong = await call(server, 'DELETE', '/signup')
    expectError(wrong, 405, 'method_not_allowed')
    expect(wrong.headers.get('allow')).toBe('POST')
  })

  it.each([
    [undefined, false],
    ['2023-12-31', false],
    ['nonsense', false],
    ['2024-13-01', false],
    ['2024-02-30', false],
    ['2024-01-01', true],
    ['2030-06-01', true],
  ])('reads the version header %j', async (version, versioned) => {
    const headers: Record<string, string> = version === undefined ? {} : { 'X-Supabase-Api-Version': version }
    const answer = await get(server, '/nope', { headers })
    expect(answer.headers.get('x-supabase-api-version')).toBe(versioned ? '2024-01-01' : null)
    expect(answer.body).toEqual(
      versioned
        ? { code: 'not_found', message: expect.any(String) as unknown }
        : { code: 404, error_code: 'not_found', msg: expect.any(String) as unknown },
    )
  })

  it('answers preflights on every path before authentication, and exposes paging and waiting times', async () => {
    for (const path of ['/user', '/admin/users', '/token', '/nope']) {
      const answer = await call(server, 'OPTIONS', path, {
        headers: { Origin: 'https://x.example', 'Access-Control-Request-Method': 'PUT' },
      })
      expect(answer.status).toBe(204)
      expect(answer.headers.get('access-control-allow-origin')).toBe('*')
      expect(answer.headers.get('access-control-allow-methods')).toBe('GET, POST, PUT, PATCH, DELETE')
      expect(answer.headers.get('access-control-allow-headers')).toBe(
        'Accept, Authorization, Content-Type, X-Client-IP, X-Client-Info, X-JWT-AUD, x-use-cookie, X-Supabase-Api-Version, apikey, X-Own',
      )
    }
    const answer = await get(server, '/settings')
    expect(answer.headers.get('access-control-expose-headers')).toBe(
      'X-Total-Count, Link, X-Supabase-Api-Version, Retry-After',
    )
  })

  it('logs one line for each request, with route, status, grant and code, and never a secret', async () => {
    const email = anEmail()
    await post(
      server,
      token,
      { email, password: 'hunter2hunter2' },
      { headers: { 'X-Correlation-Id': 'abc-1' } },
    )
    const line = server.lines.find(({ request_id: id, msg }) => id === 'abc-1' && msg === 'request')
    expect(line).toMatchObject({
      level: 'warning',
      component: 'api',
      method: 'POST',
      path: '/token',
      route: '/token',
      status: 400,
      remote_addr: '127.0.0.1',
      grant_type: 'password',
      error_code: 'invalid_credentials',
      duration: expect.any(Number) as unknown,
    })
    await get(server, '/verify?type=signup&token=secret-token')
    await get(server, '/health')
    expect(JSON.stringify(server.lines)).not.toMatch(/hunter2|secret-token/)
    expect(server.lines.some(({ path }) => path === '/health')).toBe(false)
  })

  it('logs the page that a request came from, without its query', async () => {
    await get(server, '/settings', { headers: { referer: 'https://app.example.com/page?code=secret-code' } })
    const [line] = server.lines.filter(({ path, referer }) => path === '/settings' && referer !== undefined)
    expect(line).toMatchObject({ referer: 'https://app.example.com/page' })
  })

  it('answers health, settings and keys in their documented form', async () => {
    expect((await get(server, '/health')).body).toEqual({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/) as unknown,
      name: expect.any(String) as unknown,
      description: expect.any(String) as unknown,
    })
    const jwks = await get(server, '/.well-known/jwks.json')
    expect(jwks.body).toEqual({ keys: [expect.objectContaining({ alg: 'ES256', use: 'sig' })] })
    expect(jwks.headers.get('cache-control')).toBe('public, max-age=600')
    const settings = await get(server, '/settings')
    expect(settings.body).toMatchObject({
      disable_signup: false,
      autoconfirm: true,
      mailer_autoconfirm: true,
      phone_autoconfirm: false,
      sms_provider: '',
      saml_enabled: false,
    })
    expect(Object.keys(settings.body['external'] as object)).toEqual([
      ...providers,
      ...['email', 'phone', 'anonymous_users'],
    ])
  })

  it.each([
    ['POST', '/sso', 'saml_provider_disabled', 'SAML 2.0 is disabled'],
    ['GET', '/sso/saml/metadata', 'saml_provider_disabled', 'SAML 2.0 is disabled'],
    ['GET', '/oauth/authorize', 'feature_disabled', undefined],
    ['GET', '/oauth/authorizations/x', 'feature_disabled', undefined],
    ['GET', '/admin/oauth/clients', 'feature_disabled', undefined],
    ['GET', '/user/oauth/grants', 'feature_disabled', undefined],
    ['GET', '/admin/custom-providers', 'feature_disabled', undefined],
    ['POST', '/passkeys/registration/options', 'passkey_disabled', undefined],
  ])('answers %s %s with 404 %s', async (method, path, code, message) => {
    expectError(await call(server, method, path), 404, code, message)
  })

  it('refuses the web3 grant with 422, and unknown grants with 400', async () => {
    expectError(
      await post(server, '/token?grant_type=web3', {}),
      422,
      'web3_provider_disabled',
      'Web3 provider is disabled',
    )
    for (const query of ['', '?grant_type=', '?grant_type=client_credentials'])
      expectError(
        await post(server, `/token${query}`, {}),
        400,
        'invalid_credentials',
        'unsupported_grant_type',
      )
  })

  it('limits /token and /verify by client, with bursts of 30', async () => {
    const limited = await startServer({ AUTH_SECURITY_FORWARDED_FOR_ENABLED: 'true' })
    try {
      for (const path of ['/token?grant_type=refresh_token', '/verify']) {
        const ask = (ip: string) => post(limited, path, {}, { headers: { 'X-Forwarded-For': ip } })
        for (let request = 0; request < 30; request += 1) expect((await ask('192.0.2.1')).status).toBe(400)
        expectError(await ask('192.0.2.1'), 429, 'over_request_rate_limit')
        expect((await ask('192.0.2.2')).status).toBe(400)
      }
    } finally {
      await limited.close()
    }
  })
})

describe('faults', () => {
  it('answers a fixed text with the request id, and logs the cause', async () => {
    const server = await startServer()
    try {
      await server.context.db.query('drop table flow_state cascade')
      const answer = await post(server, '/token?grant_type=pkce', { auth_code: 'x', code_verifier: 'y' })
      expectError(answer, 500, 'unexpected_failure')
      expect(answer.text).not.toMatch(/flow_state|relation|select/)
      expect(answer.body['error_id']).toBe(answer.headers.get('x-request-id'))
      expect(server.lines.find(({ level }) => level === 'error')).toMatchObject({
        request_id: answer.body['error_id'],
        msg: 'request',
        status: 500,
        error_code: 'unexpected_failure',
        error: { message: expect.stringContaining('flow_state') as unknown },
      })
      const versioned = await post(
        server,
        '/token?grant_type=pkce',
        { auth_code: 'x', code_verifier: 'y' },
        { versioned: true },
      )
      expect(Object.keys(versioned.body)).toEqual(['code', 'message'])
    } finally {
      await server.close()
    }
  })

  it('answers 503 with Retry-After when too many passwords wait for hashing, while other requests continue', async () => {
    const hasher = createPasswordHasher({ cost: 8, threads: 1, maxQueue: 1 })
    const busy = await startServer({ AUTH_MAILER_AUTOCONFIRM: 'true' }, { hasher })
    try {
      const { email, access_token: token } = await aUser(busy)
      const body = { email, password: PASSWORD }
      const answers = await Promise.all(
        Array.from({ length: 12 }, () => post(busy, '/token?grant_type=password', body)),
      )
      const refused = answers.filter(({ status }) => status !== 200)
      expect(refused.length).toBeGreaterThan(0)
      for (const answer of refused) {
        expectError(answer, 503, 'over_capacity')
        expect(answer.headers.get('retry-after')).toBe('5')
      }
      expect((await get(busy, '/user', { token })).status).toBe(200)
      expect((await post(busy, '/token?grant_type=password', body)).status).toBe(200)
    } finally {
      await busy.close()
      await hasher.close()
    }
  })

  it('answers 503 with Retry-After while the database is down, and /health still works', async () => {
    const gone = await createTestDatabase({ key: 'auth:none', migrate: () => Promise.resolve() })
    await gone.drop()
    const server = await startServer({ DATABASE_URL: gone.url.replace(/:\d+\//, ':1/') })
    try {
      const answer = await post(server, '/token?grant_type=refresh_token', { refresh_token: 'A'.repeat(72) })
      expectError(answer, 503, 'unavailable')
      expect(answer.headers.get('retry-after')).toBe('1')
      expect((await get(server, '/health')).status).toBe(200)
    } finally {
      await server.close()
    }
  })

  it('answers 504 request_timeout past AUTH_API_MAX_REQUEST_DURATION', async () => {
    const server = await startServer({ AUTH_API_MAX_REQUEST_DURATION: '300ms' })
    try {
      await server.context.db.transaction(async (tx) => {
        await tx.query('lock table users in access exclusive mode')
        const body = { email: anEmail(), password: PASSWORD }
        expectError(await post(server, '/token?grant_type=password', body), 504, 'request_timeout')
      })
    } finally {
      await server.close()
    }
  })

  it('answers the same when the database times out first', async () => {
    const server = await startServer()
    const { db } = server.context
    try {
      await db.transaction(async (tx) => {
        await tx.query('lock table users in access exclusive mode')
        const body = { email: anEmail(), password: PASSWORD }
        const answering = post(server, '/token?grant_type=password', body)
        await waitFor(async () => {
          const { rowCount } = await db.query(
            `select pg_cancel_backend(pid) from pg_stat_activity
             where datname = current_database() and wait_event_type = 'Lock'`,
          )
          return rowCount === 1
        })
        expectError(await answering, 504, 'request_timeout')
      })
    } finally {
      await server.close()
    }
  })
})
