import { describe, expect, it } from '@jest/globals'
import { canBeMet, checkPassword, type PasswordRules } from './password-rules.js'

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

describe('rules that people can meet (docs/specification.md#passwords)', () => {
  /** Sets of one character each, all different, of four bytes. */
  const emoji = (count: number) =>
    Array.from({ length: count }, (_, index) => String.fromCodePoint(0x1f511 + index))

  it.each<[string, PasswordRules]>([
    ['a length of 72', { minLength: 72, requiredCharacters: ['abc', '123'] }],
    ['18 sets of four bytes', { minLength: 6, requiredCharacters: emoji(18) }],
    ['4 sets of four bytes in 60 characters', { minLength: 60, requiredCharacters: emoji(4) }],
    [
      '20 sets that also have shorter characters',
      { minLength: 6, requiredCharacters: emoji(20).map((set) => `${set}a`) },
    ],
    ['the same set 20 times', { minLength: 6, requiredCharacters: Array.from({ length: 20 }, () => '🔑') }],
  ])('have %s', (_name, rules) => {
    expect(canBeMet(rules)).toBe(true)
  })

  it.each<[string, PasswordRules]>([
    ['19 sets of four bytes', { minLength: 6, requiredCharacters: emoji(19) }],
    ['5 sets of four bytes in 60 characters', { minLength: 60, requiredCharacters: emoji(5) }],
  ])('do not have %s', (_name, rules) => {
    expect(canBeMet(rules)).toBe(false)
  })
})
