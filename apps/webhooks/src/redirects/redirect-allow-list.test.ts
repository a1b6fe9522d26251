import { describe, expect, it } from '@jest/globals'
import { parseAllowListEntry, RedirectAllowList } from './redirect-allow-list.js'

describe('RedirectAllowList', () => {
  const list = new RedirectAllowList([
    'https://App.example:443/cb',
    'https://hosted.example/cb/*',
    'https://whole.example/*',
  ])

  it.each([
    ['https://app.example/cb', true],
    ['HTTPS://APP.EXAMPLE:443/cb', true],
    ['https://app.example/CB', false],
    ['https://app.example/cb?x=1', false],
    ['https://app.example:444/cb', false],
    ['https://hosted.example/cb/one', true],
    ['https://hosted.example/cb/one?x=1', true],
    ['https://hosted.example/cb/', false],
    ['https://hosted.example/cb', false],
    ['https://hosted.example/cb/../other', false],
    ['https://hosted.example/cb/%2e%2e/other', false],
    ['https://hosted.example/cb/a%2Fb', false],
    ['https://hosted.example/cb/a%5cb', false],
    ['https://hosted.example.evil/cb/x', false],
    ['https://whole.example/anything', true],
    ['https://whole.example.evil/anything', false],
    ['http://127.0.0.1:1/x', true],
  ])('%s: %s', (uri, allowed) => {
    expect(list.allows(uri)).toBe(allowed)
  })

  it.each([
    'http://app.example/cb',
    'https://*.example/cb',
    'app.example',
    'https://',
    'https://a@b.example/',
    'https://a.example/#x',
  ])('refuses the entry %s', (entry) => {
    expect(() => parseAllowListEntry(entry)).toThrow(/absolute https/)
  })
})
