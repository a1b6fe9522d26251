import { expect, it } from '@jest/globals'
import { isPercentEncodedUtf8, queryOf } from './percent-encoding.js'

it.each(['', 'a=b&c=%20d', 'name=%C3%A4%e2%82%ac', 'x=%F0%9F%98%80+', '100%', 'a=%zz%2', '%c3%a9%'])(
  'accepts %s',
  (text) => expect(isPercentEncodedUtf8(text)).toBe(true),
)

it.each(['%ff', 'a=%C3', '%C3(%A9', '%c3%28', 'x=%ED%A0%80', '%C0%80', 'ok=%C3%A9&no=%A9'])(
  'refuses %s',
  (text) => expect(isPercentEncodedUtf8(text)).toBe(false),
)

it('finds the query of a request target', () => {
  expect([queryOf('/a'), queryOf('/a?'), queryOf('/a?b=c?d')]).toEqual(['', '', 'b=c?d'])
})
