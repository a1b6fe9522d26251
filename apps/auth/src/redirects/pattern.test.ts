import { describe, expect, it } from '@jest/globals'
import { matchesPattern, parsePattern } from './pattern.js'
import { readTarget } from './target.js'

describe('an entry that cannot be meant', () => {
  const blanks = 'must not contain spaces, control characters or backslashes'
  const address = 'must not have an IP address other than loopback (127.0.0.0/8 or [::1])'
  const lastLabel = 'must end its host in a name without wildcard, such as .com or localhost'
  const noHost = 'must name a host, and may name a port, as in http://localhost:3000/*'
  const impossible = 'must name a host that can exist'
  it.each([
    ['https://ok.example/a b', blanks],
    ['https://ok.example\\path', blanks],
    ['https://ok.example/\u0007', blanks],
    [' https://ok.example', blanks],
    ['https://ok.example/#part', 'must not have a fragment, which servers never see'],
    ['ok.example/**', 'must begin with a scheme, as in https://example.com/**'],
    ['//ok.example', 'must begin with a scheme, as in https://example.com/**'],
    ['*://ok.example', 'must begin with a scheme, as in https://example.com/**'],
    ['9https://ok.example', 'must begin with a scheme, as in https://example.com/**'],
    ...['javascript', 'DATA', 'vbscript', 'file', 'blob', 'about', 'filesystem', 'view-source'].map(
      (scheme) => [`${scheme}:x`, 'must not have a scheme that runs code or opens files'],
    ),
    ['https://user@ok.example', 'must not have a user name'],
    ['myapp://user@callback', 'must not have a user name'],
    ['https://ok.example/%2Fx', 'must not have encoded separators in the path'],
    ['https://ok.example/%252Fx', 'must not have encoded separators in the path'],
    ...[
      'https://ok.example/%3F*',
      'https://ok.example/**/a%2eb',
      'myapp://%2e*',
      'https://ok.example/*%2523',
      'https://ok.example/*;a%3b',
      'https://ok.example/%c0%af/*',
      'https://ok.example/..;/*',
      'https://ok.example/%*',
    ].map((entry) => [
      entry,
      'must not have encoded ?, #, ; or ., bytes that are not UTF-8 or ..; in a path with wildcards',
    ]),
    ...['https://ok.example/a/%2e%2e/b', 'https://ok.example/%2E/b', 'https://ok.example/ü%3F'].map(
      (entry) => [entry, 'must have its path as browsers write it, where it has encoded ?, # or .'],
    ),
    ['https://ok.example/{a,b}', 'must not have wildcards other than * and **'],
    ['https://ok.example/[ab]', 'must not have wildcards other than * and **'],
    ['https://', noHost],
    ['https:ok.example', noHost],
    ['https:///path', noHost],
    ['https://ok.example:', noHost],
    ['https://ok.example:port', noHost],
    ['https://ok.example:123456', noHost],
    ['https://ok.example:70000', 'must have a port of at most 65535'],
    ['http://10.0.0.1', address],
    ['http://127.1', address],
    ['http://0x7f.0.0.1', address],
    ['http://[::2]', address],
    ['http://[0:0:0:0:0:0:0:1]', address],
    ['https://*', lastLabel],
    ['https://ok.*', lastLabel],
    ['https://ok.ex*ample', lastLabel],
    ['https://*.1', lastLabel],
    ['https://**.ok.example', 'must have ** in its path only: * stands for one label of a host'],
    ['https://ok..example', impossible],
    ['https://-ok.example', impossible],
    ['https://ok-.example', impossible],
    ['https://*_x.example', impossible],
    ['https://x_*.example', impossible],
    ['https://*ü.example', impossible],
    ['https://ok.example.', impossible],
    ['myapp://a:b:c', 'must be a URL'],
  ] as [string, string][])('%j %s', (entry, message) => {
    expect(() => parsePattern(entry)).toThrow(new Error(message))
  })
})

describe('an entry', () => {
  const matches = (entry: string, url: string) => {
    const target = readTarget(url)
    if (target === null) throw new Error(`${url} cannot be read`)
    return matchesPattern(parsePattern(entry), target)
  }

  it.each([
    ['HTTPS://OK.example/x', 'https://ok.example/x', true],
    ['https://OK-*.example/x', 'https://ok-1.example/x', true],
    ['https://ok.example/x', 'http://ok.example/x', false],
    ['my+app.v-2:x', 'my+app.v-2:x', true],
    ['my+app.v-2:x', 'my-app:x', false],
    // Only network schemes such as https have hosts; an entry with an app's scheme never matches their URLs.
    ['myapp://ok.example', 'https://ok.example', false],
    ['https://*.example/', 'https://127.0.0.1/', false],
    ['http://*.*.*.a1/', 'http://127.0.0.1/', false],
    ['http://127.0.0.2/', 'http://127.0.0.1/', false],
    ['http://[::1]/', 'http://[::1]/', true],
    ['http://*.ok.example/', 'http://ok.example/', false],
    ['https://123.ok.example/', 'https://123.ok.example/', true],
    ['https://0X7f.ok.e1/', 'https://0x7f.ok.e1/', true],
    ['http://a.b-c/', 'http://a.b-c/', true],
    ['https://ok.example:08443/', 'https://ok.example:8443/', true],
    ['https://ok.example:*/', 'https://ok.example/', true],
    ['https://ok.example:65535/', 'https://ok.example:65535/', true],
    ['wss://ok.example:443/', 'wss://ok.example/', true],
    ['ws://ok.example/*', 'ws://ok.example/x', true],
    ['ftp://ok.example/*', 'ftp://ok.example/x', true],
    ['https://ok.example/', 'https://ok.example.evil/', false],
    ['https://ok.example/', 'https://evil.example/', false],
    ['https://bücher.example/', 'https://xn--bcher-kva.example/', true],
    ['https://ok.1a/', 'https://ok.1a/', true],
    ['https://ok.example:8443/', 'https://ok.example:8444/', false],
    ['https://ok.example/', 'https://ok.example:8443/', false],
    ['https://ok.example:*/', 'https://ok.example:8443/', true],
    // A wildcard never matches text that a later server may decode to another path; an entry that spells such text out matches it.
    ['https://ok.example/%3Fx', 'https://ok.example/%3Fx', true],
    ['https://*.ok.example/a%2eb', 'https://x.ok.example/a%2eb', true],
    ['https://ok.example/ü', 'https://ok.example/%C3%BC', true],
    ['https://ok.example/*', 'https://ok.example/%3Fx', false],
    ['https://ok.example/**', 'https://ok.example/a/%c0%af', false],
    ['https://ok.example/**', 'https://ok.example/a/..;/b', false],
    ['myapp:**', 'myapp:..;/b', false],
    ['https://ok.example/*', 'https://ok.example/a;b=1', true],
    ['https://ok.example/*', 'https://ok.example/a%20b', true],
    ['https://ok.example/*', 'https://ok.example/100%25', true],
    ['https://ok.example/*', 'https://ok.example/%25a', true],
    ['https://ok.example/*', `https://ok.example/%${'25'.repeat(6)}41`, true],
    ['https://ok.example/*', `https://ok.example/%${'25'.repeat(7)}41`, false],
    // A query matches only if the entry has one, or if its path ends in a wildcard.
    ['https://ok.example/*', 'https://ok.example/x?a=1', true],
    ['https://ok.example/cb?', 'https://ok.example/cb', true],
    ['https://ok.example/cb?', 'https://ok.example/cb?a', false],
    ['https://ok.example/*?', 'https://ok.example/x?a', false],
    ['https://ok.example/*?a=1', 'https://ok.example/x?a=1', true],
    ['https://ok.example/*?a=1', 'https://ok.example/x?a=2', false],
    ['https://ok.example/*x', 'https://ok.example/x?a', false],
    ['https://ok.example/cb?a=*', 'https://ok.example/cb?a=/.x', true],
    ['https://ok.example/cb?q=ü', 'https://ok.example/cb?q=%C3%BC', true],
    ['https://ok.example/cb?a=?', 'https://ok.example/cb?a=?', true],
    ['myapp:x?a=*', 'myapp:x?a=1', true],
    ['myapp:x', 'myapp:x?a=1', false],
    // In a path, `*` stops at both separators (`/` and `.`), and `**` at neither.
    ['https://ok.example/a*c', 'https://ok.example/abc', true],
    ['https://ok.example/a*c', 'https://ok.example/ac', true],
    ['https://ok.example/a*c', 'https://ok.example/a/c', false],
    ['https://ok.example/*.html', 'https://ok.example/a.html', true],
    ['https://ok.example/*.html', 'https://ok.example/a.b.html', false],
    ['https://ok.example/**.html', 'https://ok.example/a.b/c.html', true],
    ['https://ok.example/a**a', 'https://ok.example/aaaa', true],
    ['https://ok.example/a**a', 'https://ok.example/a', false],
    ['https://ok.example/**a**', 'https://ok.example/bab', true],
    ['https://ok.example/***', 'https://ok.example/a/b', true],
  ])('%s, target %s: %s', (entry, url, answer) => {
    expect(matches(entry, url)).toBe(answer)
  })
})
