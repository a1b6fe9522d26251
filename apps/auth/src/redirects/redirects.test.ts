import { describe, expect, it } from '@jest/globals'
import type { Request } from 'express'
import { Redirects } from './redirects.js'

const allowed = (siteUrl: string, uriAllowList: string[], candidate: string) =>
  new Redirects({ siteUrl, uriAllowList }).accepted(candidate) !== null

describe('the site itself', () => {
  it.each([
    'https://example.com',
    'https://example.com/',
    'https://example.com/deep/path?x=1#frag',
    'https://example.com/?next=%2Fhome',
    'https://EXAMPLE.com/x',
    'https://example.com:443/x',
  ])('is %s', (candidate) => {
    expect(allowed('https://example.com/app', [], candidate)).toBe(true)
  })

  it.each([
    'http://example.com/x',
    'https://example.com:8443/x',
    'https://example.com.evil.io',
    'https://evil.io/?https://example.com',
    'https://evil.io/#https://example.com',
    'https://user@example.com/',
    'https://example.com@evil.io/',
    'https://example.com\\@evil.io/',
    'https:\\\\example.com/',
    'https:example.com',
    'https:///example.com',
    'https://ｅxample.com/',
    'https://%65xample.com/',
    'https://example。com/',
    'https://example.com./',
    'https://sub.example.com/',
    'https://example.com/%2F%2Fevil.io',
    'https://example.com/\r\nSet-Cookie: a=b',
    ' https://example.com/',
    'https://example.com/a b',
    'https://exam\tple.com/',
    '//example.com',
    '/relative',
    'example.com',
    '',
  ])('is not %j', (candidate) => {
    expect(allowed('https://example.com', [], candidate)).toBe(false)
  })

  it.each([
    ['http://localhost:3000', 'http://localhost:8080/cb', true],
    ['http://localhost:3000', 'http://localhost/', true],
    ['http://127.0.0.1:3000', 'http://127.0.0.1:8080/x', true],
    ['http://[::1]:3000', 'http://[::1]:8080/x', true],
    ['http://app.localhost:3000', 'http://app.localhost:8080/x', true],
    ['http://app.localhost:3000', 'http://other.localhost:3000/x', false],
    ['http://127.0.0.1:3000', 'http://localhost:3000/x', false],
    ['http://127.0.0.1:3000', 'http://0177.0.0.1:3000/x', false],
    ['http://127.0.0.1:3000', 'http://2130706433:3000/x', false],
    ['http://10.0.0.5:3000', 'http://10.0.0.5:3000/x', true],
    ['http://10.0.0.5:3000', 'http://10.0.0.5:8080/x', false],
    ['https://bücher.example', 'https://bücher.example/x', true],
    ['https://bücher.example', 'https://xn--bcher-kva.example/x', true],
  ])('at %s, candidate %s: %s', (site, candidate, answer) => {
    expect(allowed(site, [], candidate)).toBe(answer)
  })
})

describe('an entry of the allow-list', () => {
  it.each([
    ['http://localhost:3000', 'http://localhost:3000', true],
    // Two spellings of one URL.
    ['http://localhost:3000', 'http://localhost:3000/', true],
    ['http://localhost:3000', 'http://localhost:3000/docs', false],
    ['http://localhost:8000/*', 'http://localhost:8000/path', true],
    ['http://localhost:8000/*', 'http://localhost:8000/path?p=1', true],
    ['http://localhost:8000/*', 'http://localhost:8000/a/b', false],
    ['http://localhost:8000/*', 'http://localhost:8000/a.b', false],
    ['http://localhost:8000/**', 'http://localhost:8000/a/b.c', true],
    ['http://test.dev:3000/*/*', 'http://test.dev:3000/bar/foo', true],
    ['http://test.dev/**/end', 'http://test.dev/a/b/end', true],
    ['http://test.dev/**/end', 'http://test.dev/a/b/end/', false],
    ['http://test.dev/app/**', 'http://test.dev/app/../admin', false],
    ['http://test.dev/app/**', 'http://test.dev/app/%2e%2e/admin', false],
    ['http://test.dev/ü', 'http://test.dev/%C3%BC', true],
    ['http://*.other.dev:3000', 'http://sub.other.dev:3000', true],
    ['http://*.dev:3000', 'http://foo.bar.dev:3000', false],
    ['http://*.*.dev:3000', 'http://foo.bar.dev:3000', true],
    ['http://*.example.com/*', 'http://something#.example.com/abc', false],
    ['http://*.example.com/*', 'http://japanese。.example.com/abc', false],
    ['http://*.localhost:8000/*', 'http://123?.localhost:8000/path', false],
    ['https://a-*-z.example.com', 'https://a-b-z.example.com', true],
    ['https://a-*-z.example.com', 'https://a-z.example.com', false],
    ['https://ok.example:*/**', 'https://ok.example:9/x', true],
    ['https://ok.example:443/', 'https://ok.example/', true],
    ['https://ok.example', 'https://ok.example:8443', false],
    ['https://ok.example', 'https://ok.example/x', false],
    ['https://ok.example/*', 'https://evil.io/?https://ok.example/x', false],
    ['https://ok.example/cb', 'https://ok.example/cb?sb_flow_id=1', false],
    ['https://ok.example/cb?*', 'https://ok.example/cb?sb_flow_id=1', true],
    ['https://ok.example/cb?a=*', 'https://ok.example/cb?b=2&a=1', false],
    ['https://bücher.example/*', 'https://xn--bcher-kva.example/x', true],
    ['http://127.0.0.1:*/**', 'http://127.0.0.1:12345/path', true],
    ['http://127.0.0.1:*/**', 'http://127.1:12345/path', false],
    ['http://127.0.0.1:*/**', 'http://0x7f.0.0.1:12345/path', false],
    ['http://[::1]:8080/**', 'http://[::1]:8080/', true],
    ['http://[::1]:8080/**', 'http://[0:0:0:0:0:0:0:1]:8080/', false],
    ['twitter://timeline', 'twitter://timeline', true],
    ['myapp:callback', 'myapp:callback', true],
    ['myapp:callback', 'myapp://callback', false],
    ['myapp://callback', 'myapp:///callback', false],
    ['com.example.app://**', 'com.example.app://sign-in/v2', true],
    ['com.example.app://**', 'com.example.app.evil://sign-in', false],
    ['com.myapp://**', 'com.myapp://', true],
    ['com.myapp://*', 'com.myapp://a%2Fb', false],
    ['com.myapp://*', 'com.myapp://user@a', false],
    // Wildcards match ordinary characters, encoded or not.
    ['https://ok.example/**', 'https://ok.example/a%20b/%C3%BC%2B100%25/50%2525', true],
    ['https://ok.example/**', 'https://ok.example/@me/v1.2:3', true],
    ['https://ok.example/**', 'https://ok.example/cb?next=%2Fa%3Fb%23c%2E%40%3A%5C', true],
    // Escapes that an entry spells out match in exactly that spelling.
    ['https://ok.example/u/a%40b%3Ac%2E%3F%23', 'https://ok.example/u/a%40b%3Ac%2E%3F%23', true],
    ['https://ok.example/u/a%2Eb', 'https://ok.example/u/a%2Eb?x=1', false],
    ['https://ok.example/u/a%2Eb', 'https://ok.example/u/a%2eb', false],
    ['https://ok.example/u/a%2540b', 'https://ok.example/u/a%2540b', true],
    ['com.myapp://a%3Fb', 'com.myapp://a%3Fb', true],
    ['com.myapp://**', 'com.myapp://a%3Fb', false],
    ['https://ok.example/**', 'https://ok.example/%40me/2026-11-27T10%3A00', true],
    ['com.myapp:**', 'com.myapp:a%3A%23', false],
    // Path parameters, as Angular and Java write them.
    ['https://ok.example/**', 'https://ok.example/people;page=2/cb;jsessionid=1A', true],
    ['https://ok.example/*', 'https://ok.example/;a', true],
    ['https://ok.example/a;b%3Bc', 'https://ok.example/a;b%3Bc', true],
    ['https://ok.example/%ff', 'https://ok.example/%ff', true],
    ['https://ok.example/**', 'https://ok.example/%F0%9F%98%80/%EF%BC%8F', true],
    ['https://ok.example/**', 'https://ok.example/cb?a=%ff%3b%c0%af', true],
  ])('%s, candidate %s: %s', (entry, candidate, answer) => {
    expect(allowed('https://app.dev', [entry], candidate)).toBe(answer)
  })

  const SEPARATORS = ['2f', '5c', '3f', '23', '2e']
  it.each(
    SEPARATORS.flatMap((code) => [code, code.toUpperCase()]).flatMap((code) => [
      `%${code}`,
      `%25${code}`,
      `%2525${code}`,
    ]),
  )('lets no wildcard stand for the encoded separator %s, and neither does the site', (encoded) => {
    for (const path of [`/a${encoded}b`, `/${encoded}`, `/a/${encoded}${encoded}/b`, `/a;${encoded}/`]) {
      const candidate = `https://ok.example${path}`
      expect(allowed('https://app.dev', ['https://ok.example/**', 'https://ok.example/*'], candidate)).toBe(
        false,
      )
      expect(allowed('https://ok.example', [], candidate)).toBe(false)
    }
  })

  it.each([
    // Bytes that are not UTF-8: some servers read overlong ones as / and dots.
    ...['%c0%af', '%C0%AE', '%e0%80%af', '%ff', '%c3', '%25c0%25af', '%', '%zz', '%u002f'],
    // Servers that support path parameters see `..` before the semicolon.
    ...['..;', '.;', '..;a=1', '%3b', '%3B', '%253b'],
    // The digits of an escape, encoded.
    ...['%25%32%66', '%25%32e', '%252%65', '%2525%33f'],
    `%${'25'.repeat(20)}41`,
  ])('lets no wildcard stand for the segment %s, and neither does the site', (segment) => {
    const candidate = `https://ok.example/a/${segment}/b`
    expect(allowed('https://app.dev', ['https://ok.example/**', 'https://ok.example/a/*/b'], candidate)).toBe(
      false,
    )
    expect(allowed('https://ok.example', [], candidate)).toBe(false)
  })

  it('decides in time for any number of wildcards and any input', () => {
    const redirects = new Redirects({
      siteUrl: 'https://app.dev',
      uriAllowList: [`https://ok.example/${'**a'.repeat(40)}`],
    })
    const before = process.cpuUsage()
    expect(redirects.accepted(`https://ok.example/${'a'.repeat(4000)}b`)).toBe(null)
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(20_000)
  })
})

describe('a page of this server', () => {
  const ownPage = 'https://id.example/account'
  const redirects = () => new Redirects({ siteUrl: 'https://app.dev', uriAllowList: [], ownPage })

  it.each([
    ['https://id.example/account', true],
    ['https://id.example/account?step=2?', true],
    ['https://id.example/account/other', false],
    ['https://id.example/', false],
  ])('%s: %s', (candidate, answer) => {
    expect(redirects().accepted(candidate) !== null).toBe(answer)
  })
})

it('gives a target as it came, or escaped when a header could not carry it', () => {
  const redirects = new Redirects({ siteUrl: 'https://app.dev', uriAllowList: [] })
  expect(redirects.accepted('https://APP.dev/x?y=~!')).toBe('https://APP.dev/x?y=~!')
  expect(redirects.accepted('https://app.dev/ü')).toBe('https://app.dev/%C3%BC')
  expect(redirects.accepted('https://app.dev/ü')).not.toContain('ü')
})

it('has no site when the setting is not a URL that a browser could open', () => {
  expect(allowed('https://user@app.dev', [], 'https://app.dev/')).toBe(false)
  expect(allowed('myapp://home', [], 'myapp://home')).toBe(false)
})

it('knows the spelling of the host in the setting, with and without port, path, query and fragment', () => {
  for (const end of ['', ':8443', '/', '/path', '?query', '#part', ':8443/path'])
    expect([end, allowed(`https://bücher.example${end}`, [], `https://bücher.example${end}`)]).toEqual([
      end,
      true,
    ])
  expect(allowed('https://xn--bcher-kva.example', [], 'https://bücher.example/')).toBe(false)
})

it.each([
  ['http://localhost.example:3000', 'http://localhost.example:8080/'],
  ['http://mylocalhost:3000', 'http://mylocalhost:8080/'],
])('does not take %s for this machine', (site, candidate) => {
  expect(allowed(site, [], candidate)).toBe(false)
})

describe('the target of a request', () => {
  const redirects = () =>
    new Redirects({ siteUrl: 'https://app.dev/home', uriAllowList: ['https://ok.example/*'] })
  const targetOf = (header: string | undefined, parameter?: unknown) =>
    redirects().targetOf({
      query: { redirect_to: parameter },
      get: (name: string) => (name === 'redirect_to' ? header : undefined),
    } as unknown as Request)

  it.each([
    ['the header', 'https://ok.example/a', 'https://ok.example/b', 'https://ok.example/a'],
    ['the parameter', undefined, 'https://ok.example/b', 'https://ok.example/b'],
    [
      'the first of several',
      undefined,
      ['https://ok.example/b', 'https://ok.example/c'],
      'https://ok.example/b',
    ],
    [
      'the parameter, when the header is refused',
      'https://evil.io/',
      'https://ok.example/b',
      'https://ok.example/b',
    ],
    ['the site, when nothing is named', undefined, undefined, 'https://app.dev/home'],
    ['the site, when all is refused', 'https://evil.io/', 'https://evil.io/', 'https://app.dev/home'],
    [
      'the site, when the parameter is no text',
      undefined,
      { a: 'https://ok.example/b' },
      'https://app.dev/home',
    ],
  ])('is %s', (_name, header, parameter, target) => {
    expect(targetOf(header, parameter)).toBe(target)
  })
})
