import { createHash } from 'node:crypto'
import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { hintOf, isPersonalToken, personalToken } from './personal-token.js'

it('matches a known vector', () => {
  const token = personalToken('0123456789ABCDEFGHIJKLMNOPQRST')
  expect(token).toBe('svp_0123456789ABCDEFGHIJKLMNOPQRST0Yllhu')
  expect(createHash('sha256').update(token).digest('hex')).toBe(
    '9104d517d86eccf90735bd7da75566f545ded2da12aeae8849289969a43b2587',
  )
  expect(hintOf(token)).toBe('svp_…llhu')
})

it('recognizes what it makes and nothing with one character changed', () => {
  fc.assert(
    fc.property(fc.nat(35), fc.constantFrom(...'0aZ-'), (index, character) => {
      const token = personalToken()
      const changed = token.slice(0, 4 + index) + character + token.slice(5 + index)
      return isPersonalToken(token) && (changed === token || !isPersonalToken(changed))
    }),
  )
})
