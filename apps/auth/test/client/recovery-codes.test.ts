import { AuthClient } from '@supabase/auth-js'
import { TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { PASSWORD } from '../support/api.js'
import type { TestServer } from '../support/server.js'
import { aSignedInClient, memoryStorage, ok, startClientServer } from './support.js'

let server: TestServer
beforeAll(async () => {
  server = await startClientServer()
})
afterAll(() => server.close())

/** The client offers recovery codes only where an application asks for experiments. */
const experimental = (storage = memoryStorage()) =>
  new AuthClient({
    url: server.url,
    storage,
    storageKey: 'session',
    autoRefreshToken: false,
    detectSessionInUrl: false,
    experimental: { recoveryCodes: true },
  })

/** Someone who is signed in, with the second factor, if any. */
async function aPerson({ withFactor = true } = {}) {
  const storage = memoryStorage()
  const { email, user } = await aSignedInClient(server, { storage })
  const client = experimental(storage)
  if (withFactor) {
    const { id: factorId, totp } = await ok(client.mfa.enroll({ factorType: 'totp' }))
    server.clock.advance(30_000)
    const code = new TOTP({ secret: totp.secret }).generate({ timestamp: server.clock.now().getTime() })
    await ok(client.mfa.challengeAndVerify({ factorId, code }))
  }
  return { client, email, user }
}

describe('the published client uses recovery codes', () => {
  it('from the first set over a sign-in with one to their removal', async () => {
    const { client, email, user } = await aPerson()
    expect((await client.mfa.recoveryCodes.getStatus()).error).toMatchObject({ code: 'mfa_factor_not_found' })
    const made = await ok(client.mfa.recoveryCodes.generate({ friendlyName: 'on paper' }))
    expect(made).toMatchObject({ id: user.id, type: 'recovery_code', total: 10 })
    expect(made.codes).toHaveLength(10)

    const again = experimental()
    await ok(again.signInWithPassword({ email, password: PASSWORD }))
    const typed = (made.codes[0] ?? '').toUpperCase().replace(/(.{4})/g, '$1-')
    await ok(again.mfa.recoveryCodes.verify({ code: typed }))
    expect(await ok(again.mfa.getAuthenticatorAssuranceLevel())).toMatchObject({ currentLevel: 'aal2' })
    expect(await ok(again.mfa.recoveryCodes.getStatus())).toEqual({
      id: user.id,
      type: 'recovery_code',
      total: 10,
      remaining: 9,
    })
    const other = await ok(again.mfa.recoveryCodes.regenerate())
    expect(other.codes).not.toContain(made.codes[1])
    expect(await ok(again.mfa.recoveryCodes.unenroll())).toEqual({ id: user.id })
    expect((await again.mfa.recoveryCodes.getStatus()).error).toMatchObject({ code: 'mfa_factor_not_found' })
  })

  it('and hears why it gets none', async () => {
    const { client: withoutFactor } = await aPerson({ withFactor: false })
    const codeOf = async (answer: Promise<{ error: unknown }>) =>
      ((await answer).error as { code?: string } | null)?.code
    expect(await codeOf(withoutFactor.mfa.recoveryCodes.generate())).toBe('mfa_recovery_codes_sole_factor')
    const { client, email } = await aPerson()
    expect(await codeOf(client.mfa.recoveryCodes.regenerate())).toBe('mfa_factor_not_found')
    expect(await codeOf(client.mfa.recoveryCodes.unenroll())).toBe('mfa_factor_not_found')
    await ok(client.mfa.recoveryCodes.generate())
    expect(await codeOf(client.mfa.recoveryCodes.generate())).toBe('mfa_verified_factor_exists')
    const weak = experimental()
    await ok(weak.signInWithPassword({ email, password: PASSWORD }))
    for (const refused of [weak.mfa.recoveryCodes.regenerate(), weak.mfa.recoveryCodes.unenroll()])
      expect(await codeOf(refused)).toBe('insufficient_aal')
    expect(await codeOf(weak.mfa.recoveryCodes.verify({ code: 'aaaaaaaaaa' }))).toBe(
      'mfa_verification_failed',
    )
  })
})
