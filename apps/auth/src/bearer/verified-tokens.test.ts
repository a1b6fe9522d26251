import { describe, expect, it } from '@jest/globals'
import type { JwtClaims } from '@signet/jwt'
import { hs256Token, TestClock } from '@signet/testkit'
import { KeyRing } from '../keys/key-ring.js'
import { VerifiedTokens } from './verified-tokens.js'

const secret = 'test-secret-0123456789-abcdefghijklmnopqrstuvwxyz'
const withSecret = KeyRing.create({ secret })
const alwaysWith = (ring: KeyRing) => ({
  forVerifying: () => Promise.resolve(ring),
  newerThan: () => Promise.resolve(ring),
})

describe('verified tokens', () => {
  const clock = new TestClock()
  const now = clock.now().getTime() / 1000
  const tokens = new VerifiedTokens(alwaysWith(withSecret), clock.now)
  const tokenOf = (claims: JwtClaims) => hs256Token(secret, claims)

  it('are refused from the second on which they expire, however often they were good', async () => {
    const token = tokenOf({ sub: 'a', exp: now + 10 })
    expect(await tokens.verify(token)).toEqual(await tokens.verify(token))
    clock.advance(10_000)
    await expect(tokens.verify(token)).rejects.toMatchObject({ reason: 'expired' })
  })

  it('are not accepted before their time when the clock goes back', async () => {
    const token = tokenOf({ sub: 'a', nbf: now + 5 })
    clock.set(new Date((now + 5) * 1000))
    await tokens.verify(token)
    clock.set(new Date((now + 4) * 1000))
    await expect(tokens.verify(token)).rejects.toMatchObject({ reason: 'not_yet_valid' })
  })

  it('do not lend their signature to another token', async () => {
    const token = tokenOf({ sub: 'a' })
    await tokens.verify(token)
    const changed = token.slice(0, -4) + (token.endsWith('AAAA') ? 'BBBA' : 'AAAA')
    await expect(tokens.verify(changed)).rejects.toMatchObject({ name: 'JwtError' })
  })

  it('are checked again once many others came after them', async () => {
    for (let n = 0; n < 2100; n += 1) await tokens.verify(tokenOf({ sub: String(n) }))
    expect((await tokens.verify(tokenOf({ sub: '0' }))).sub).toBe('0')
  })
})
