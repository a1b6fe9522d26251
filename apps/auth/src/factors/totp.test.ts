import { TOTP } from 'otpauth'
import { describe, expect, it } from '@jest/globals'
import { matchingStep, newTotpSecret, totpUri } from './totp.js'

const now = new Date('2030-01-01T10:00:15Z')
const step = Math.floor(now.getTime() / 30_000)
const codeAt = (secret: string, offset: number) =>
  new TOTP({ secret }).generate({ timestamp: now.getTime() + offset * 30_000 })

describe('TOTP (RFC 6238)', () => {
  it('makes secrets of 20 random bytes in base32 without padding', () => {
    const secrets = Array.from({ length: 100 }, newTotpSecret)
    expect(new Set(secrets).size).toBe(100)
    for (const secret of secrets) expect(secret).toMatch(/^[A-Z2-7]{32}$/)
  })

  it('takes the codes of one step early or late too', () => {
    for (const secret of Array.from({ length: 20 }, newTotpSecret)) {
      for (const offset of [-1, 0, 1])
        expect(matchingStep(secret, codeAt(secret, offset), now, null)).toBe(step + offset)
      expect(matchingStep(secret, codeAt(secret, 2), now, null)).not.toBe(step + 2)
      expect(matchingStep(secret, codeAt(secret, -2), now, null)).not.toBe(step - 2)
    }
  })

  it('agrees with the test vectors of the RFC', () => {
    // The seed "12345678901234567890" in base32; the RFC's eight digits end in these six.
    const seed = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
    const vectors = [
      [59, '287082'],
      [1111111109, '081804'],
      [1234567890, '005924'],
      [2000000000, '279037'],
    ] as const
    for (const [seconds, code] of vectors)
      expect(matchingStep(seed, code, new Date(seconds * 1000), null)).toBe(Math.floor(seconds / 30))
  })

  it('takes no step up to the last one that was used', () => {
    const secret = newTotpSecret()
    expect(matchingStep(secret, codeAt(secret, 0), now, step)).toBeNull()
    expect(matchingStep(secret, codeAt(secret, -1), now, step)).toBeNull()
    expect(matchingStep(secret, codeAt(secret, 1), now, step)).toBe(step + 1)
  })

  it.each(['', '12345', '1234567', 'abcdef', '12345６', '123456\n', ' 12345'])(
    'takes no %j for a code',
    (code) => {
      expect(matchingStep(newTotpSecret(), code, now, null)).toBeNull()
    },
  )

  it('writes the address that authenticator apps read, with any characters in the names', () => {
    const secret = newTotpSecret()
    const uri = totpUri({ secret, issuer: 'Ex&mple: Inc', account: 'a+b@c.de' })
    expect(uri).toBe(
      'otpauth://totp/Ex%26mple%3A%20Inc:a%2Bb%40c.de' +
        `?issuer=Ex%26mple%3A%20Inc&secret=${secret}&algorithm=SHA1&digits=6&period=30`,
    )
  })
})
