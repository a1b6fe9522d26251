import { describe, expect, it } from '@jest/globals'
import { checkPassword, passwordRules, randomPassword } from './password-rules.js'

const simple = passwordRules(6, '')
const strict = passwordRules(8, 'abcdefghijklmnopqrstuvwxyz:ABCDEFGHIJKLMNOPQRSTUVWXYZ:0123456789:\\:!')

describe('passwordRules (contract section 7)', () => {
  it('raises a minimum below 6 to 6', () => {
    expect(passwordRules(0, '').minLength).toBe(6)
    expect(passwordRules(5, '').minLength).toBe(6)
    expect(passwordRules(12, '').minLength).toBe(12)
  })

  it('separates sets by colons, takes an escaped colon literally and ignores empty sets', () => {
    expect(passwordRules(6, 'abc:123').requiredCharacters).toEqual(['abc', '123'])
    expect(passwordRules(6, '::abc::').requiredCharacters).toEqual(['abc'])
    expect(passwordRules(6, 'a\\:b:\\:').requiredCharacters).toEqual(['a:b', ':'])
    expect(passwordRules(6, '').requiredCharacters).toEqual([])
  })
})

describe('checkPassword (contract section 7)', () => {
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

describe('randomPassword (contract section 7)', () => {
  it('has at least 33 characters, meets the rules and fits bcrypt', () => {
    for (const rules of [simple, strict, passwordRules(60, 'ß:🔑')]) {
      const password = randomPassword(rules)
      expect([...password].length).toBeGreaterThanOrEqual(33)
      expect(checkPassword(rules, password)).toBeNull()
    }
  })

  it('never repeats and does not put the required characters in front', () => {
    const passwords = Array.from({ length: 50 }, () => randomPassword(passwordRules(6, '!')))
    expect(new Set(passwords).size).toBe(50)
    expect(new Set(passwords.map((password) => password.indexOf('!'))).size).toBeGreaterThan(5)
  })
})
