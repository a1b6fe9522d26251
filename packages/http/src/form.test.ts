import { expect, it } from '@jest/globals'
import { formPairs, NotUtf8Error } from './form.js'

const pairsOf = (text: string) => [...formPairs(text)]

it.each([
  '',
  '&',
  '=',
  '&&a=b&&',
  'a',
  'a=',
  '=b',
  'a=b=c',
  'a+b=c+d%2B',
  '%61%3D=%26%3d',
  'x=%C3%A9%e2%82%ac%F0%9F%98%80',
  'x=é€😀&ä%C3%A4=1',
  'x=%00%EF%BB%BF',
  'x=%&y=%2&%zz=%4g%%41',
  '__proto__=a&a=1&a=2',
  `x=${'%7B%22t%22%3A%22h%C3%A4+'.repeat(1000)}`,
])('reads %s as browsers do', (text) => expect(pairsOf(text)).toEqual([...new URLSearchParams(text)]))

it('reads every byte, encoded in lower and upper case', () => {
  const hex = (byte: number) => `%${byte.toString(16).padStart(2, '0')}`
  const ascii = Array.from({ length: 128 }, (_, byte) => byte)
  const value = String.fromCharCode(...ascii)
  const encoded = ascii.map(hex).join('')
  expect(pairsOf(`a=${encoded}&b=${encoded.toUpperCase()}`)).toEqual([
    ['a', value],
    ['b', value],
  ])
})

it.each(['%ff', 'a=%C3', '%C3(%A9', 'x=%ED%A0%80', '%C0%80=', 'ok=%C3%A9&no=%A9', 'a=%C3é', 'a%C3=%A9'])(
  'refuses %s, because it is not UTF-8',
  (text) => expect(() => pairsOf(text)).toThrow(NotUtf8Error),
)
