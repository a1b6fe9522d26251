import { TOTP } from 'otpauth'
import { afterAll, describe, expect, it } from '@jest/globals'
import { aUser, expectError, post } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { claimsOf } from './support/tokens.js'

describe('session limits', () => {
  const servers: TestServer[] = []
  const start = async (env: Record<string, string>) => {
    const server = await startServer({ AUTH_MAILER_AUTOCONFIRM: 'true', ...env })
    servers.push(server)
    return server
  }
  afterAll(async () => {
    for (const server of servers) await server.close()
  })
  const refresh = (server: TestServer, token: unknown) =>
    post(server, '/token?grant_type=refresh_token', { refresh_token: token })

  it('ends a session at its timebox after sign-in, no matter how often it was refreshed', async () => {
    const server = await start({ AUTH_SESSIONS_TIMEBOX: '1h' })
    const user = await aUser(server)
    server.clock.advance(1_800_000)
    const next = await refresh(server, user.refresh_token)
    expect(next.status).toBe(200)
    server.clock.advance(1_800_001)
    expectError(await refresh(server, next.body['refresh_token']), 400, 'session_expired')
  })

  it('ends a session that was not refreshed for the inactivity timeout', async () => {
    const server = await start({ AUTH_SESSIONS_INACTIVITY_TIMEOUT: '1h' })
    const user = await aUser(server)
    server.clock.advance(3_600_000)
    const next = await refresh(server, user.refresh_token)
    expect(next.status).toBe(200)
    server.clock.advance(3_600_001)
    expectError(await refresh(server, next.body['refresh_token']), 400, 'session_expired')
  })

  it('limits how long users with a second factor stay at aal1, in tokens and at refresh', async () => {
    const server = await start({ AUTH_SESSIONS_ALLOW_LOW_AAL: '20m' })
    const user = await aUser(server)
    const options = { token: user.access_token }
    const { body: factor } = await post(server, '/factors', { factor_type: 'totp' }, options)
    const { secret } = factor['totp'] as { secret: string }
    const path = `/factors/${String(factor['id'])}`
    const { body: challenge } = await post(server, `${path}/challenge`, {}, options)
    const code = new TOTP({ secret }).generate({ timestamp: server.clock.now().getTime() })
    const raised = await post(server, `${path}/verify`, { challenge_id: challenge['id'], code }, options)
    const { email, password } = user
    const low = await post(server, '/token?grant_type=password', { email, password })
    expect(low.body['expires_in']).toBe(1200)
    expect(claimsOf(String(low.body['access_token']))['exp']).toBe(low.body['expires_at'])
    server.clock.advance(600_000)
    const later = await refresh(server, low.body['refresh_token'])
    expect(later.body['expires_in']).toBe(600)
    server.clock.advance(600_001)
    expectError(await refresh(server, later.body['refresh_token']), 400, 'session_expired')
    expect((await refresh(server, raised.body['refresh_token'])).body['expires_in']).toBe(3600)
  })

  it('lets only the most recently used session refresh', async () => {
    const server = await start({ AUTH_SESSIONS_SINGLE_PER_USER: 'true' })
    const user = await aUser(server)
    server.clock.advance(1000)
    const newer = await post(server, '/token?grant_type=password', {
      email: user.email,
      password: user.password,
    })
    expectError(await refresh(server, user.refresh_token), 400, 'session_expired')
    expect((await refresh(server, newer.body['refresh_token'])).status).toBe(200)
  })
})
