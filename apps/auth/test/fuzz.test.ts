import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { type Route } from '@signet/http'
import { authRoutes } from '../src/app.js'
import {
  anEmail,
  aUser,
  call,
  expectError,
  get,
  post,
  put,
  type ApiAnswer,
  type SignedUp,
} from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const UUID = '00000000-0000-4000-8000-000000000000'

/** Strings that have broken servers before. */
const nastyText = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\0',
    'a\0b',
    '\uD800',
    'x\uDFFFy',
    '__proto__',
    'constructor',
    '${7*7}',
    "'; drop table users; --",
  ),
  fc.constantFrom(
    'null',
    'undefined',
    'NaN',
    '-1',
    '1e309',
    '../../etc/passwd',
    '<script>',
    '%00',
    '\r\nX-Injected: 1',
    '🤷‍♀️',
  ),
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({ unit: 'grapheme', maxLength: 50 }),
  fc.constant('x'.repeat(100_000)),
)
const nastyValue = fc.oneof(
  nastyText,
  fc.jsonValue({ maxDepth: 4 }),
  fc.double(),
  fc.bigInt().map(Number),
  fc.boolean(),
  fc.constant(null),
  fc.array(fc.anything({ maxDepth: 2, withBigInt: false }), { maxLength: 3 }),
  fc.constant(nested(5000)),
)

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

/** A body whose members are those of the route, good and bad ones mixed, some missing, some nobody asked for. */
function bodyOf(route: Route): fc.Arbitrary<string> {
  const { properties } = route.body?.schema as { properties?: Record<string, { type: string }> }
  const members = Object.fromEntries(
    Object.entries(properties ?? {}).map(([name, { type }]) => [
      name,
      fc.oneof(
        {
          weight: 2,
          arbitrary: type === 'string' ? plausible(name) : type === 'boolean' ? fc.boolean() : fc.object(),
        },
        { weight: 1, arbitrary: nastyValue },
      ),
    ]),
  )
  const objects = fc
    .tuple(fc.record(members, { requiredKeys: [] }), fc.dictionary(nastyText, nastyValue, { maxKeys: 3 }))
    .map(([known, unknown]) => safeJson({ ...unknown, ...known }))
  return fc.oneof(
    { weight: 8, arbitrary: objects },
    { weight: 1, arbitrary: nastyText },
    {
      weight: 1,
      arbitrary: fc.constant('{"data":{"__proto__":{"a":1},"constructor":{"prototype":{"b":1}}}}'),
    },
  )
}

const plausible = (name: string): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constantFrom(
      anEmail(),
      '4915112345678',
      UUID,
      'signup',
      'recovery',
      'correct horse battery',
      'totp',
      '123456',
    ),
    fc.constant(name),
    nastyText,
  )

const headerCharacter = (min: number, max: number) =>
  fc.integer({ min, max }).map((code) => String.fromCharCode(code))

function safeJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return '{'
  }
}

describe('bad input', () => {
  let server: TestServer
  let user: SignedUp
  beforeAll(async () => {
    server = await startServer({
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
      AUTH_SMS_TEST_OTP: '4915112345678:123456',
      AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
      LOG_LEVEL: 'error',
    })
    user = await aUser(server)
  })
  afterAll(() => server.close())

  /** Never a fault of ours, never a word about our insides. The one gateway that fails is the one that is not there. */
  const expectCalm = (answer: ApiAnswer, what: string) => {
    expect([what, answer.status < 500 || isMissingGateway(answer)]).toEqual([what, true])
    expect(answer.text).not.toMatch(/\n\s+at |node_modules|\/src\/|select |insert into|syntax error/i)
  }
  const isMissingGateway = ({ status }: ApiAnswer) =>
    status === 500 && server.lines.some(({ error }) => /SMS|sms/.test(JSON.stringify(error)))

  it('in the body of any route is answered as such', async () => {
    const routes = authRoutes(server.context).filter(({ body }) => body?.schema !== undefined)
    expect(routes.length).toBeGreaterThan(15)
    for (const route of routes) {
      const path = route.path.replace(/:\w+/g, UUID)
      const token = route.docs.security?.[0] === 'admin' ? serviceToken() : user.access_token
      const query =
        route.path === '/token'
          ? ['?grant_type=password', '?grant_type=refresh_token', '?grant_type=pkce']
          : ['']
      await fc.assert(
        fc.asyncProperty(
          bodyOf(route),
          fc.constantFrom(...query),
          fc.boolean(),
          async (body, search, versioned) => {
            const answer = await call(server, route.method.toUpperCase(), path + search, {
              body,
              token,
              versioned,
            })
            expectCalm(answer, `${route.method} ${path}${search}`)
          },
        ),
        { numRuns: 15, endOnFailure: true },
      )
      // The walk changes the user's address and password, and may log out: start again from a good session.
      if (route.docs.security?.[0] === 'user') user = await aUser(server)
    }
  }, 120_000)

  it('in one member of an otherwise good body is answered as such', async () => {
    const values = [
      'x'.repeat(500_000),
      'x'.repeat(300),
      'ä'.repeat(300),
      '\0',
      '\uDC00',
      '🤷'.repeat(100),
      '',
      ' ',
      1,
      true,
      [],
      {},
      null,
    ]
    for (const route of authRoutes(server.context)) {
      const properties = (route.body?.schema as { properties?: Record<string, unknown> } | undefined)
        ?.properties
      if (properties === undefined) continue
      const isAdmin = route.docs.security?.[0] === 'admin'
      for (const name of Object.keys(properties))
        // All values at once: it is a few thousand requests.
        await Promise.all(
          values.map(async (value) => {
            // A good sign-up would do for most routes; what is missing for others only makes them refuse earlier.
            const body = {
              email: anEmail(),
              password: 'correct horse',
              type: 'signup',
              token: '123456',
              [name]: value,
            }
            const path =
              route.path.replace(/:\w+/g, UUID) + (route.path === '/token' ? '?grant_type=password' : '')
            const token = isAdmin ? serviceToken() : undefined
            expectCalm(
              await call(server, route.method.toUpperCase(), path, { body, token }),
              `${path} ${name}`,
            )
          }),
        )
    }
  }, 120_000)

  it('in the query is answered as such', async () => {
    const paths = [
      '/verify?type=',
      '/verify?type=signup&token=',
      '/token?grant_type=',
      '/logout?scope=',
      '/settings?x=',
    ]
    const adminPaths = [
      '/admin/users?page=',
      '/admin/users?sort=',
      '/admin/users?filter=',
      '/admin/audit?query=action:',
      '/admin/users/',
    ]
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths, ...adminPaths), nastyText, async (path, text) => {
        const value = encodeURIComponent(text.slice(0, 2000).replace(/\p{Surrogate}/gu, '?'))
        const method = path.startsWith('/token') || path.startsWith('/logout') ? 'POST' : 'GET'
        const token = path.startsWith('/admin') ? serviceToken() : undefined
        expectCalm(
          await call(server, method, path + value, { token, ...(method === 'POST' ? { body: {} } : {}) }),
          path,
        )
      }),
      { numRuns: 100 },
    )
  }, 120_000)

  it('in headers is answered as such', async () => {
    const names = [
      'Authorization',
      'X-Supabase-Api-Version',
      'X-JWT-AUD',
      'redirect_to',
      'Referer',
      'X-Forwarded-For',
      'User-Agent',
    ]
    const value = fc.string({
      unit: fc.oneof(headerCharacter(0x20, 0x7e), headerCharacter(0xa0, 0xff)),
      maxLength: 400,
    })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), value, async (name, text) => {
        const headers = { [name]: text.trim() }
        expectCalm(await get(server, '/user', { headers }), name)
        expectCalm(await post(server, '/signup', { email: anEmail(), password: '123456' }, { headers }), name)
      }),
      { numRuns: 60 },
    )
  }, 120_000)

  it.each([
    ['NUL', 'a\0b'],
    ['a lone surrogate', 'a\uD800b'],
  ])('with %s in metadata is refused, because it cannot be stored', async (_, text) => {
    const token = (await aUser(server)).access_token
    expectError(
      await put(server, '/user', { data: { a: [{ b: text }] } }, { token }),
      400,
      'validation_failed',
    )
    expectError(await put(server, '/user', { data: { [text]: 1 } }, { token }), 400, 'validation_failed')
  })

  it('nested a hundred thousand levels deep is refused without running out of stack', async () => {
    const deep = `{"data":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    const deepObject = `{"data":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`
    const token = (await aUser(server)).access_token
    for (const body of [deep, deepObject])
      expectError(await put(server, '/user', body, { token }), 400, 'validation_failed')
    expect((await get(server, '/user', { token })).status).toBe(200)
  })

  it('that breaks HTTP itself gets an answer or a closed connection, and the server goes on', async () => {
    const requests = [
      'GET\r\n\r\n',
      'POST /signup HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n{',
      `GET /${'x'.repeat(70_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
      '\0\0\0\0',
    ]
    const { port } = new URL(server.url)
    for (const request of requests)
      await new Promise<void>((resolve) => {
        const socket = connect(Number(port), '127.0.0.1', () => socket.end(request))
        socket.once('close', () => resolve())
        socket.once('error', () => resolve())
        socket.resume()
      })
    expect((await get(server, '/health')).status).toBe(200)
  })
})
