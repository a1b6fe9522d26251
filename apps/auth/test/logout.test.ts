import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { NIL_UUID } from '../src/users/uuid.js'
import { aUser, expectError, PASSWORD, post } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { claimsOf, tokenOf } from './support/tokens.js'

const signIn = (server: TestServer, email: string, password: string) =>
  post(server, '/token?grant_type=password', { email, password })

describe('POST /logout', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ AUTH_MAILER_AUTOCONFIRM: 'true' })
  })
  afterAll(() => server.close())
  const refresh = async (token: unknown) =>
    (await post(server, '/token?grant_type=refresh_token', { refresh_token: token })).status
  const threeSessions = async () => {
    const first = await aUser(server)
    const [second, third] = [
      await signIn(server, first.email, PASSWORD),
      await signIn(server, first.email, PASSWORD),
    ]
    return { first, second: second.body, third: third.body }
  }

  it.each([
    ['global', [400, 400, 400]],
    [undefined, [400, 400, 400]],
    ['', [400, 400, 400]],
    ['local', [400, 200, 200]],
    ['others', [200, 400, 400]],
  ])('scope %j revokes the right refresh tokens, with 204 and no body', async (scope, expected) => {
    const { first, second, third } = await threeSessions()
    const query = scope === undefined ? '' : `?scope=${scope}`
    const answer = await post(server, `/logout${query}`, undefined, { token: first.access_token })
    expect([answer.status, answer.text]).toEqual([204, ''])
    expect([
      await refresh(first.refresh_token),
      await refresh(second['refresh_token']),
      await refresh(third['refresh_token']),
    ]).toEqual(expected)
  })

  it('of one session may be repeated; an unknown scope is refused', async () => {
    const user = await aUser(server)
    const logout = (query: string) => post(server, `/logout${query}`, undefined, { token: user.access_token })
    expectError(await logout('?scope=everything'), 400, 'validation_failed')
    expect((await logout('?scope=local')).status).toBe(204)
    expect((await logout('?scope=local')).status).toBe(204)
  })

  it.each(['', '?scope=local', '?scope=others'])(
    'ends nothing for a token without a session (%j)',
    async (query) => {
      const user = await aUser(server)
      const { session_id: _, ...claims } = claimsOf(user.access_token)
      for (const sessionless of [claims, { ...claims, session_id: NIL_UUID }]) {
        const answer = await post(server, `/logout${query}`, undefined, { token: tokenOf(sessionless) })
        expectError(answer, 403, 'session_not_found')
      }
      expect(await refresh(user.refresh_token)).toBe(200)
    },
  )

  it('ends a session that is being refreshed in parallel', async () => {
    for (let round = 0; round < 5; round += 1) {
      const user = await aUser(server)
      await Promise.all([
        post(server, '/token?grant_type=refresh_token', { refresh_token: user.refresh_token }),
        post(server, '/logout', undefined, { token: user.access_token }),
      ])
      const { rows } = await server.context.db.query(
        'select 1 from sessions where user_id = $1 and revoked_at is null',
        [user.user.id],
      )
      expect(rows).toEqual([])
    }
  })
})
