import { describe, expect, it } from '@jest/globals'
import { normalizeEmail } from './email.js'

const refused = expect.objectContaining({
  kind: 'invalid',
  code: 'validation_failed',
  message: 'Unable to validate email address: invalid format',
})

describe('normalizeEmail (docs/specification.md#addresses)', () => {
  it('stores and compares in lower case', () => {
    expect(normalizeEmail('Ann.Lee+News@Example.CO')).toBe('ann.lee+news@example.co')
  })

  it.each(['a@localhost', "o'hara@x-y.example", '!#$%&*/=?^_`{|}~-@a.b', 'a.@b.c', '.a..b@c'])(
    'accepts %s as HTML5 does',
    (email) => {
      expect(normalizeEmail(email)).toBe(email)
    },
  )

  it.each([
    '',
    'a',
    '@b.c',
    'a@',
    'a@b@c',
    'a b@c.d',
    ' a@b.c',
    'a@b.c\n',
    'a@-b.c',
    'a@b-.c',
    'a@b..c',
    'a@b.c.',
    'a@b_c.d',
    'ä@b.c',
    'a@bücher.de',
    'a@b.c\0',
    '"a"@b.c',
    `a@${'b'.repeat(64)}.c`,
  ])('refuses %j', (email) => {
    expect(() => normalizeEmail(email)).toThrow(refused)
  })

  it('does not let a letter that lower-cases to ASCII stand for somebody else', () => {
    expect(() => normalizeEmail('mar\u212A@example.com')).toThrow(refused)
  })

  it('takes 255 bytes and refuses 256', () => {
    const domain = '@example.com'
    expect(normalizeEmail('a'.repeat(255 - domain.length) + domain)).toHaveLength(255)
    expect(() => normalizeEmail('a'.repeat(256 - domain.length) + domain)).toThrow(refused)
  })

  it('decides about a long hostile string at once', () => {
    expect(() => normalizeEmail(`a@${'a.'.repeat(500_000)}`)).toThrow(refused)
  })
})
