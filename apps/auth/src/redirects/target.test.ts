import { describe, expect, it } from '@jest/globals'
import {
  hasEncodedDelimiter,
  hasHiddenSeparator,
  hasNetworkHost,
  isAddress,
  isLoopbackAddress,
  readTarget,
} from './target.js'

describe('readTarget', () => {
  it.each([
    ['https://ok.example', { scheme: 'https', host: 'ok.example', port: '', path: '/', query: '' }],
    [
      'HTTPS://OK.example:8443/a/b?x=1&y#part',
      { scheme: 'https', host: 'ok.example', port: '8443', path: '/a/b', query: 'x=1&y' },
    ],
    ['https://ok.example:443/', { scheme: 'https', host: 'ok.example', port: '', path: '/', query: '' }],
    ['http://[::1]:8080/', { scheme: 'http', host: '[::1]', port: '8080', path: '/', query: '' }],
    ['https://ok.example/@me', { scheme: 'https', host: 'ok.example', port: '', path: '/@me', query: '' }],
    [
      'https://ok.example/?next=%2Fhome',
      { scheme: 'https', host: 'ok.example', port: '', path: '/', query: 'next=%2Fhome' },
    ],
    ['https://a/', { scheme: 'https', host: 'a', port: '', path: '/', query: '' }],
    ['https://a-b.c1/', { scheme: 'https', host: 'a-b.c1', port: '', path: '/', query: '' }],
    ['myapp:a', { scheme: 'myapp', host: null, port: '', path: 'a', query: '' }],
    ['myapp://a:1/b?c#d', { scheme: 'myapp', host: null, port: '', path: '//a:1/b', query: 'c' }],
    ['myapp:///a', { scheme: 'myapp', host: null, port: '', path: '///a', query: '' }],
    // An empty query and fragment are not part of the address.
    ['myapp://a?', { scheme: 'myapp', host: null, port: '', path: '//a', query: '' }],
    ['myapp://a?#', { scheme: 'myapp', host: null, port: '', path: '//a', query: '' }],
  ])('takes %s apart', (url, parts) => {
    expect(readTarget(url)).toEqual(parts)
  })

  it.each([
    'https://ok.example/a b',
    'https://ok.example\\x',
    'https://ok.example/\u0000',
    'no url',
    'https://user@ok.example/',
    'https://user:password@ok.example/',
    'myapp://user@host',
    'https:ok.example',
    'https://ok_example/',
    'https://_ok.example/',
    'https://ok.example_/',
    'https://-ok.example/',
    'https://ok.example-/',
    'https://ok..example/',
    'https://ok.example./',
    'https://%6fk.example/',
    'https://bücher.example/',
    'http://[0:0:0:0:0:0:0:1]/',
    'http://127.1/',
    ...[
      '%2f',
      '%2F',
      '%5c',
      '%5C',
      '%00',
      '%0A',
      '%1f',
      '%7F',
      '%252f',
      '%25255C',
      '%2500',
      '%2e%2e/x',
      'a/%2E',
    ].map((hidden) => `https://ok.example/${hidden}`),
    'myapp://a%2Fb',
    'myapp:a%0Ab',
    ...['javascript:x', 'data:x', 'vbscript:x', 'file:///x', 'about:blank', 'filesystem:x', 'view-source:x'],
    'blob:https://ok.example/1',
  ])('refuses %j', (url) => {
    expect(readTarget(url)).toBeNull()
  })

  it('takes one further spelling of a host, in any case, and no other', () => {
    expect(readTarget('https://bücher.example:1/', 'BÜCHER.example')).toMatchObject({
      host: 'xn--bcher-kva.example',
      port: '1',
    })
    expect(readTarget('https://BÜCHER.example/', 'bücher.example')).not.toBeNull()
    expect(readTarget('https://bücher.example/', 'büchner.example')).toBeNull()
    // IP addresses have only one spelling.
    expect(readTarget('http://127.1/', '127.1')).toBeNull()
  })
})

it('knows the schemes whose URLs have hosts', () => {
  expect(['http', 'https', 'ws', 'wss', 'ftp'].every(hasNetworkHost)).toBe(true)
  expect(['myapp', 'mailto', ''].some(hasNetworkHost)).toBe(false)
})

it('tells escapes that hide a separator from others', () => {
  expect(['/a%2Fb', '%5c', '%0a', '%1F', '%7f', '%252f', '%25255C'].every(hasHiddenSeparator)).toBe(true)
  expect(['/a/b', '%20', '%2e', '%2', '%7e', '%aa', '2f', '%2520'].some(hasHiddenSeparator)).toBe(false)
})

it('tells escapes of delimiters from others', () => {
  expect(['/a%3Fb', '%23', '%2e', '%253F', '%25252E'].every(hasEncodedDelimiter)).toBe(true)
  expect(['/a?b#c.', '%20', '%2f', '%3', '%3d', '%25', '%40', '%3A', '%253A'].some(hasEncodedDelimiter)).toBe(
    false,
  )
})

it('tells addresses, and those of this machine, from names', () => {
  expect(['127.0.0.1', '10.0.0.1', '[::1]', '[fe80::1]'].every(isAddress)).toBe(true)
  expect(['localhost', '[localhost]', '1.2.3', 'a[::1]', '[::1]a'].some(isAddress)).toBe(false)
  expect(['127.0.0.1', '127.255.10.200', '[::1]'].every(isLoopbackAddress)).toBe(true)
  const others = [
    '10.0.0.1',
    '127.0.0',
    '127.0.0.1.example',
    '1127.0.0.1',
    '[::1]x',
    'x[::1]',
    '[::2]',
    '127.a.0.1',
  ]
  expect(others.some(isLoopbackAddress)).toBe(false)
})
