import { describe, expect, it } from '@jest/globals'
import { checkPassword, randomPassword, type PasswordRules } from './password-rules.js'

const simple: PasswordRules = { minLength: 6, requiredCharacters: [] }
const strict: PasswordRules = {
  minLength: 8,
  requiredCharacters: ['abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', '0123456789', ':!'],
}

describe('checkPassword (docs/specification.md#passwords)', () => {
  it.each([
    ['72 bytes', 'a'.repeat(72)],
    ['72 bytes in 36 characters', 'é'.repeat(36)],
    ['six characters', 'secret'],
    ['six characters of several bytes', 'пароль'],
  ])('accepts %s', (_name, password) => {
    expect(checkPassword(simple, password)).toBeNull()
  })

  it.each([
    ['73 bytes', 'a'.repeat(73)],
    ['37 characters of two bytes', 'é'.repeat(37)],
    ['19 characters of four bytes', '🔑'.repeat(19)],
  ])('refuses %s as too long', (_name, password) => {
    expect(checkPassword(simple, password)).toMatchObject({ kind: 'too_long' })
  })

  it.each(['', 'short', '🔑🔑🔑🔑🔑'])('calls %j too short and names the minimum', (password) => {
    expect(checkPassword(simple, password)).toEqual({
      kind: 'weak',
      reasons: ['length'],
      message: 'Password should be at least 6 characters.',
    })
  })

  it('wants one character of every set', () => {
    expect(checkPassword(strict, 'Abcdefg1:')).toBeNull()
    expect(checkPassword(strict, 'Abcdefg1!')).toBeNull()
    for (const password of ['abcdefg1:', 'ABCDEFG1:', 'Abcdefgh:', 'Abcdefg12'])
      expect(checkPassword(strict, password)).toMatchObject({ kind: 'weak', reasons: ['characters'] })
  })

  it('gives every reason at once', () => {
    expect(checkPassword(strict, 'abc')).toMatchObject({ reasons: ['length', 'characters'] })
  })
})

describe('randomPassword (docs/specification.md#passwords)', () => {
  it('has at least 33 characters, meets the rules and fits bcrypt', () => {
    for (const rules of [simple, strict, { minLength: 60, requiredCharacters: ['ß', '🔑'] }]) {
      const password = randomPassword(rules)
      expect([...password].length).toBeGreaterThanOrEqual(33)
      expect(checkPassword(rules, password)).toBeNull()
    }
  })

  it('never repeats and does not put the required characters in front', () => {
    const passwords = Array.from({ length: 50 }, () =>
      randomPassword({ minLength: 6, requiredCharacters: ['!'] }),
    )
    expect(new Set(passwords).size).toBe(50)
    expect(new Set(passwords.map((password) => password.indexOf('!'))).size).toBeGreaterThan(5)
  })
})
