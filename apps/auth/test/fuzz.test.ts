import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { authRoutes } from '../src/app.js'
import {
  anEmail,
  aUser,
  call,
  expectError,
  get,
  put,
  UUID,
  type ApiAnswer,
  type SignedUp,
} from './support/api.js'
import { bodyOf, expectCalmOn, startOpenServer } from './support/bad-input.js'
import type { TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

describe('bad input in bodies', () => {
  let server: TestServer
  let user: SignedUp
  beforeAll(async () => {
    server = await startOpenServer()
    user = await aUser(server)
  })
  afterAll(() => server.close())

  const expectCalm = (answer: ApiAnswer, what: string) => expectCalmOn(server, answer, what)

  it('in the body of any route is answered as such', async () => {
    const routes = authRoutes(server.context).filter(({ body }) => body?.schema !== undefined)
    expect(routes.length).toBeGreaterThan(15)
    for (const route of routes) {
      const path = route.path.replace(/:\w+/g, UUID)
      const token = route.docs.security?.[0] === 'admin' ? serviceToken() : user.access_token
      const query =
        route.path === '/token'
          ? ['password', 'refresh_token', 'pkce', 'id_token', 'web3'].map((grant) => `?grant_type=${grant}`)
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
  })

  it('in one member of an otherwise good body is answered as such', async () => {
    const values = [
      'x'.repeat(100_000),
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
        // Sends all values at once, because there are a few thousand requests.
        await Promise.all(
          values.map(async (value) => {
            // A good sign-up is enough for most routes. Others miss something and refuse the request earlier.
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
  })

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
})
