import { describe, expect, it } from '@jest/globals'
import { isAllowedRedirect } from './redirects.js'

const allowed = (siteUrl: string, uriAllowList: string[], candidate: string) =>
  isAllowedRedirect({ siteUrl, uriAllowList }, candidate)

describe('redirect check, the table of contract 14.2', () => {
  it.each([
    ['http://localhost:3000', 'http://localhost:3000', true],
    ['http://localhost:3000', 'http://localhost:3000/docs', false],
    ['http://localhost:8000/*', 'http://localhost:8000/path', true],
    ['http://localhost:8000/*', 'http://localhost:8000/path?p=1', true],
    ['http://localhost:8000/*', 'http://localhost:8000', false],
    ['http://localhost:8000/*', 'http://localhost:8000/a/b', false],
    ['http://test.dev:3000/*/*', 'http://test.dev:3000/bar/foo', true],
    ['http://*.test.dev:3000', 'http://sub.test.dev:3000/#/', false],
    ['http://*.other.dev:3000', 'http://sub.other.dev:3000', true],
    ['http://*.dev:3000', 'http://foo.bar.dev:3000', false],
    ['http://*.*.dev:3000', 'http://foo.bar.dev:3000', true],
    ['http://*.example.com/*', 'http://something#.example.com/abc', false],
    ['http://*.example.com/*', 'http://japanese。.example.com/abc', false],
    ['http://*.localhost:8000/*', 'http://123?.localhost:8000/path', false],
    ['**', 'http://123.123.123.123?localhost:8000/path', false],
    ['http://**:12345/*', 'http://127.0.0.1:12345/path', true],
    ['twitter://timeline', 'twitter://timeline', true],
    ['com.example.app://**', 'com.example.app://sign-in/v2', true],
    ['com.myapp://**', 'com.myapp://', true],
  ])('entry %s, candidate %s: %s', (entry, candidate, answer) => {
    expect(allowed('https://app.dev', [entry], candidate)).toBe(answer)
  })

  it('takes the host of the site with a fragment route', () => {
    expect(allowed('http://sub.test.dev:3000', [], 'http://sub.test.dev:3000/#/')).toBe(true)
  })

  it.each([
    'http://example.com/x',
    'https://example.com:8443/x',
    'https://example.com.evil.io',
    'https://evil.io/?https://example.com',
    'https://evil.io/#https://example.com',
    '//evil.io',
    '//example.com',
    '/relative',
    '',
    'example.com',
  ])('site https://example.com and an empty list: %j is refused', (candidate) => {
    expect(allowed('https://example.com', [], candidate)).toBe(false)
  })

  it.each(['http://localhost:8080/cb', 'http://localhost/'])(
    'the port of a loopback site does not count: %s',
    (url) => {
      expect(allowed('http://localhost:3000', [], url)).toBe(true)
    },
  )
})

describe('redirect check, the site itself', () => {
  it.each([
    'https://example.com',
    'https://example.com/',
    'https://example.com/deep/path?x=1#frag',
    'https://EXAMPLE.com/x',
    'https://example.com:443/x',
  ])('%s is the site', (candidate) => {
    expect(allowed('https://example.com/app', [], candidate)).toBe(true)
  })

  it.each([
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
    'https://example.com/\r\nSet-Cookie: a=b',
    ' https://example.com/',
    'https://example.com/a b',
    'https://exam\tple.com/',
  ])('%j is not', (candidate) => {
    expect(allowed('https://example.com', [], candidate)).toBe(false)
  })

  it.each([
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
  ])('site %s, candidate %s: %s', (site, candidate, answer) => {
    expect(allowed(site, [], candidate)).toBe(answer)
  })
})

describe('redirect check, the allow-list', () => {
  const any = (candidate: string) => allowed('https://app.dev', ['**'], candidate)

  it.each([
    'javascript:alert(1)',
    'JavaScript://x/%0aalert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
  ])('lets nothing allow %s', (candidate) => {
    expect(any(candidate)).toBe(false)
  })

  it.each([
    'http://2130706433/',
    'myapp://12345',
    'http://10.0.0.1/',
    'http://[fe80::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://0x7f.1/',
    'http://127.1/',
    'http://user@host.example/',
    'http://-a.example/',
    'http://a_b.example/',
    'http:host.example',
  ])('refuses %s before any glob is asked', (candidate) => {
    expect(any(candidate)).toBe(false)
  })

  it.each([
    'http://127.0.0.1:9/x',
    'http://127.8.8.8/',
    'http://[::1]:8080/',
    'myapp:callback',
    'myapp:///path',
  ])('lets a glob allow %s', (candidate) => {
    expect(any(candidate)).toBe(true)
    expect(allowed('https://app.dev', [], candidate)).toBe(false)
  })

  it('matches the whole target: no prefix, no substring', () => {
    expect(allowed('https://app.dev', ['https://ok.example'], 'https://ok.example/x')).toBe(false)
    expect(
      allowed('https://app.dev', ['https://ok.example/*'], 'https://evil.io/?https://ok.example/x'),
    ).toBe(false)
  })

  it('keeps the query in the match', () => {
    expect(allowed('https://app.dev', ['https://ok.example/cb'], 'https://ok.example/cb?sb_flow_id=1')).toBe(
      false,
    )
    expect(
      allowed('https://app.dev', ['https://ok.example/cb?*'], 'https://ok.example/cb?sb_flow_id=1'),
    ).toBe(true)
  })
})
