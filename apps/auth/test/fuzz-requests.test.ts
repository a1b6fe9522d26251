import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Route } from '@signet/http'
import { authRoutes } from '../src/app.js'
import { anEmail, aUser, call, get, PASSWORD, post, UUID, type SignedUp } from './support/api.js'
import { expectCalmOn, headerValue, nastyText, queryOf, startOpenServer } from './support/bad-input.js'
import type { TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const namesOf = ({ docs }: Route): string[] => (docs.parameters ?? []).map(({ name }) => name)

describe('bad input outside of bodies', () => {
  let server: TestServer
  let user: SignedUp
  beforeAll(async () => {
    server = await startOpenServer()
    user = await aUser(server)
  })
  afterAll(() => server.close())
  const tokenFor = ({ docs }: Route) =>
    docs.security?.[0] === 'admin' ? serviceToken() : docs.security ? user.access_token : undefined

  it('in the query of any route is answered as such', async () => {
    // Logging out is only for users, and the server would refuse every request after it.
    const routes = authRoutes(server.context).filter(
      ({ path, docs }) => path !== '/logout' && docs.tag !== 'Not available',
    )
    for (const route of routes) {
      const method = route.method.toUpperCase()
      const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} }
      await fc.assert(
        fc.asyncProperty(queryOf(['grant_type', 'redirect_to', ...namesOf(route)]), async (query) => {
          const path = `${route.path.replace(/:\w+/g, UUID).replace('*path', 'x')}?${query}`
          expectCalmOn(server, await call(server, method, path, { token: tokenFor(route), ...body }), path)
        }),
        { numRuns: 12, endOnFailure: true },
      )
    }
    await fc.assert(
      fc.asyncProperty(queryOf(['scope']), async (query) => {
        const path = `/logout?${query}`
        expectCalmOn(server, await post(server, path, {}, { token: user.access_token }), path)
      }),
      { numRuns: 12 },
    )
  })

  it('in the path is answered as such', async () => {
    const paths = authRoutes(server.context)
      .map(({ path }) => path)
      .filter((path) => path.includes(':'))
    const text = nastyText.map((raw) =>
      encodeURIComponent(raw.slice(0, 2000).replace(/\p{Surrogate}/gu, '?')),
    )
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), text, async (pattern, part) => {
        const path = pattern.replace(/:\w+/g, part)
        for (const method of ['GET', 'DELETE'])
          expectCalmOn(
            server,
            await call(server, method, path, { token: serviceToken() }),
            `${method} ${path}`,
          )
      }),
      { numRuns: 60 },
    )
  })

  it('in headers is answered as such', async () => {
    const { email, access_token: token } = await aUser(server)
    const names = [
      'Authorization',
      'X-Supabase-Api-Version',
      'X-JWT-AUD',
      'redirect_to',
      'Referer',
      'X-Forwarded-For',
      'X-Forwarded-Host',
      'User-Agent',
      'Content-Type',
      'Content-Encoding',
      'Origin',
      'X-Request-Id',
    ]
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), headerValue, async (name, value) => {
        const headers = { [name]: value }
        const body = { email: anEmail(), password: PASSWORD }
        for (const answer of [
          await get(server, '/user', { headers }),
          await get(server, '/user', { token, headers }),
          await get(server, '/admin/users', { token: serviceToken(), headers }),
          await get(server, '/verify?type=signup&token=x', { headers }),
          await post(server, '/signup', body, { headers }),
          await post(server, '/token?grant_type=password', { email, password: PASSWORD }, { headers }),
        ])
          expectCalmOn(server, answer, `${name}: ${value}`)
      }),
      { numRuns: 60 },
    )
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
