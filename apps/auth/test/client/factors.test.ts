import { TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { PASSWORD } from '../support/api.js'
import type { TestServer } from '../support/server.js'
import { aClient, anAdmin, aSignedInClient, ok, startClientServer } from './support.js'

type Client = ReturnType<typeof aClient>

let server: TestServer
beforeAll(async () => {
  server = await startClientServer()
})
afterAll(() => server.close())

/** What an authenticator app shows; the clock moves on first, because a code works once. */
function codeOf(secret: string): string {
  server.clock.advance(30_000)
  return new TOTP({ secret }).generate({ timestamp: server.clock.now().getTime() })
}

async function enrollVerified(client: Client, friendlyName: string) {
  const factor = await ok(client.mfa.enroll({ factorType: 'totp', friendlyName }))
  const { id: challengeId } = await ok(client.mfa.challenge({ factorId: factor.id }))
  const code = codeOf(factor.totp.secret)
  const verified = await ok(client.mfa.verify({ factorId: factor.id, challengeId, code }))
  return { factor, verified }
}

const levels = async (client: Client) => {
  const { currentLevel, nextLevel, currentAuthenticationMethods } = await ok(
    client.mfa.getAuthenticatorAssuranceLevel(),
  )
  return { currentLevel, nextLevel, methods: currentAuthenticationMethods.map(methodOf) }
}
const methodOf = (entry: string | { method: string }) => (typeof entry === 'string' ? entry : entry.method)

describe('the published client uses a second factor', () => {
  it('from enrollment over challenge and code to aal2, and back by unenrollment', async () => {
    const { client, session } = await aSignedInClient(server)
    expect(await levels(client)).toEqual({ currentLevel: 'aal1', nextLevel: 'aal1', methods: ['otp'] })

    const { factor, verified } = await enrollVerified(client, 'phone app')
    expect(factor).toMatchObject({ type: 'totp', friendly_name: 'phone app' })
    expect(factor.totp.qr_code).toMatch(/^data:image\/svg\+xml;utf-8,<svg[^#]*<\/svg>\s*$/)
    expect(verified.refresh_token).not.toBe(session.refresh_token)
    expect(await levels(client)).toEqual({
      currentLevel: 'aal2',
      nextLevel: 'aal2',
      methods: expect.arrayContaining(['totp', 'otp']) as unknown,
    })
    const factors = await ok(client.mfa.listFactors())
    expect(factors.totp).toMatchObject([{ id: factor.id, status: 'verified', friendly_name: 'phone app' }])
    expect(factors.phone).toEqual([])

    expect(await ok(client.mfa.unenroll({ factorId: factor.id }))).toEqual({ id: factor.id })
    await ok(client.refreshSession())
    expect(await levels(client)).toEqual({ currentLevel: 'aal1', nextLevel: 'aal1', methods: ['otp'] })
    expect((await ok(client.mfa.listFactors())).all).toEqual([])
  })

  it('when it signs in again: aal1 with a way up, then aal2 in one call, which a refresh keeps', async () => {
    const { client, email } = await aSignedInClient(server)
    const { factor } = await enrollVerified(client, 'app')
    const again = aClient(server)
    await ok(again.signInWithPassword({ email, password: PASSWORD }))
    expect(await levels(again)).toMatchObject({ currentLevel: 'aal1', nextLevel: 'aal2' })
    expect((await again.updateUser({ password: 'a new horse battery' })).error).toMatchObject({
      status: 401,
      code: 'insufficient_aal',
    })
    await ok(again.mfa.challengeAndVerify({ factorId: factor.id, code: codeOf(factor.totp.secret) }))
    expect(await levels(again)).toMatchObject({ currentLevel: 'aal2', nextLevel: 'aal2' })
    await ok(again.refreshSession())
    expect(await levels(again)).toMatchObject({ currentLevel: 'aal2' })
    expect((await ok(client.getUser())).user.email).toBe(email)
  })

  it('and hears why a code is refused, without losing its session', async () => {
    const { client } = await aSignedInClient(server)
    const factor = await ok(client.mfa.enroll({ factorType: 'totp' }))
    const refused = await client.mfa.challengeAndVerify({ factorId: factor.id, code: '000000' })
    expect(refused.error).toMatchObject({
      status: 422,
      code: 'mfa_verification_failed',
      message: expect.stringContaining('Invalid TOTP code') as unknown,
    })
    const { id: challengeId } = await ok(client.mfa.challenge({ factorId: factor.id }))
    server.clock.advance(300_000)
    const late = await client.mfa.verify({
      factorId: factor.id,
      challengeId,
      code: codeOf(factor.totp.secret),
    })
    expect(late.error).toMatchObject({ status: 422, code: 'mfa_challenge_expired' })
    expect((await client.getUser()).error).toBeNull()
  })

  it('but not an anonymous one', async () => {
    const open = await startClientServer({ AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true' })
    try {
      const client = aClient(open)
      await ok(client.signInAnonymously())
      const refused = await client.mfa.enroll({ factorType: 'totp' })
      expect(refused.error).toMatchObject({ status: 403, code: 'no_authorization' })
    } finally {
      await open.close()
    }
  })
})

describe('the published admin client manages factors', () => {
  it('lists and deletes them, which lowers the session that used one', async () => {
    const { client, user } = await aSignedInClient(server)
    const admin = anAdmin(server)
    expect(await ok(admin.mfa.listFactors({ userId: user.id }))).toEqual({ factors: [] })
    const { factor } = await enrollVerified(client, 'lost phone')
    const { factors } = await ok(admin.mfa.listFactors({ userId: user.id }))
    expect(factors).toMatchObject([{ id: factor.id, factor_type: 'totp', status: 'verified' }])
    expect((await admin.mfa.deleteFactor({ userId: user.id, id: factor.id })).error).toBeNull()
    expect((await ok(admin.mfa.listFactors({ userId: user.id }))).factors).toEqual([])
    await ok(client.refreshSession())
    expect(await levels(client)).toMatchObject({ currentLevel: 'aal1', nextLevel: 'aal1' })
    expect((await admin.mfa.deleteFactor({ userId: user.id, id: factor.id })).error).toMatchObject({
      status: 404,
      code: 'mfa_factor_not_found',
    })
  })
})
