import { expect, it } from '@jest/globals'
import { parseUrl } from './parse-url.js'

it('parses URLs and nothing else', () => {
  expect(parseUrl('https://example.com/a?b#c')?.pathname).toBe('/a')
  expect(parseUrl('example.com')).toBeNull()
  expect(parseUrl('')).toBeNull()
})

it('still knows a URL with an umlaut after the engine has optimized the call', () => {
  const asked = Array.from({ length: 50_000 }, () => parseUrl('https://b\u00fccher.example/hook'))
  expect(asked.every((url) => url?.hostname === 'xn--bcher-kva.example')).toBe(true)
})
