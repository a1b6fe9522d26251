import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { readConfig } from '../src/config/read-config.js'
import { anEmail, get, post, type ApiAnswer } from './support/api.js'
import { JWT_SECRET, SITE, startServer, type TestServer } from './support/server.js'

const LIST = [
  'https://*.*.example.net/**',
  'https://preview-*.example.org/cb',
  'http://*.localhost:8000/*',
  'https://ports.example.com:*/cb',
  'https://query.example.com/cb?flow=*',
  'myapp://callback',
  'com.example.app://**',
]

describe('the target of a session', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      AUTH_URI_ALLOW_LIST: LIST.join(','),
      AUTH_RATE_LIMIT_VERIFY: '100000',
    })
  })
  afterAll(() => server.close())

  const targetOf = ({ headers }: ApiAnswer) => (headers.get('location') ?? '').split('#')[0]
  /** Follows an emailed link with a wrong token. Its error goes where a session would go. */
  const follow = async (redirectTo: string, headers: Record<string, string> = {}) =>
    targetOf(
      await get(
        server,
        `/verify?${String(new URLSearchParams({ type: 'signup', token: 'x', redirect_to: redirectTo }))}`,
        {
          headers,
        },
      ),
    )

  it.each([
    // The host ends before the question mark; the pattern must not match across it.
    'https://evil.com?.example.net/',
    'https://evil.com?a.b.example.net/x',
    'https://evil.com/?a.b.example.net/x',
    'https://evil.com#.example.net/',
    'https://evil.com/.example.net/',
    'https://evil.com\\.a.example.net/',
    'https://a.b@evil.com/.example.net/',
    'https://a.b.example.net@evil.com/',
    'https://evil.com:443?.example.net/',
    'https://evil.com%2f.a.example.net/',
    'https://evil.com%5c.a.example.net/',
    'https://evil.com%00.a.example.net/',
    'https://evil。com/.a.example.net/',
    'https://a.evil.example.com?.example.net/',
    'https://a.b.c.example.net/',
    'https://b.example.net/',
    'https://a..example.net/',
    'https://user:secret@a.b.example.net/',
    'https://a.b.example.net:8443/',
    'http://a.b.example.net/',
    'https://a.b.example.net/x%2f..%2fy',
    'https://a.b.example.net/x%5Cy',
    'https://a.b.example.net/x%3fy',
    'https://a.b.example.net/x%23y',
    'https://a.b.example.net/x%2ey',
    'https://a.b.example.net/x%252fy',
    'https://a.b.example.net/x\ty',
    'https://a.b.example.net/%0d%0aset-cookie:a',
    'https://preview-1.evil.com?.example.org/cb',
    'https://preview-1.x.example.org/cb',
    'https://preview-1.example.org/cb/more',
    'https://preview-1.example.org/cb?x',
    'http://123?.localhost:8000/path',
    'http://a.localhost:8000/a/b',
    'http://a.localhost:8001/a',
    'https://ports.example.com:1@evil.com/cb',
    'https://query.example.com/cb?other=1&flow=1',
    'myapp://callback/elsewhere',
    'myapp://other',
    'myapp:callback',
    'com.example.app:x',
  ])('%j is not on the list and is replaced by the site', async (candidate) => {
    expect(await follow(candidate)).toBe(SITE)
  })

  it.each([
    'https://a.b.example.net/%40me/10%3A00',
    'https://a.b.example.net',
    'https://a.b.example.net/',
    'https://A.B.example.net:443/deep/path.html?next=%2Fhome#there',
    'https://a.b.example.net/a%20b/@me/%E2%9C%93.html',
    'https://preview-7.example.org/cb',
    'http://a.localhost:8000/path?p=1',
    'https://ports.example.com:8443/cb',
    'https://ports.example.com/cb',
    'https://query.example.com/cb?flow=1.2/3',
    'myapp://callback',
    'com.example.app://',
    'com.example.app://sign-in/v2.1?x=1',
  ])('%j is', async (candidate) => {
    expect(await follow(candidate)).toBe(candidate.split('#')[0])
  })

  it('is spelled in ASCII, as headers require', async () => {
    expect(await follow('https://a.b.example.net/ü/✓?q=✓')).toBe(
      'https://a.b.example.net/%C3%BC/%E2%9C%93?q=%E2%9C%93',
    )
  })

  it('is never taken from the Referer header', async () => {
    expect(await follow('', { referer: 'https://a.b.example.net/page' })).toBe(SITE)
    expect(await follow('https://evil.com/', { referer: 'https://a.b.example.net/page' })).toBe(SITE)
  })

  it('is named in the query or in a header, and nowhere else', async () => {
    const wanted = 'https://a.b.example.net/page'
    const link = '/verify?type=signup&token=x'
    expect(targetOf(await get(server, link, { headers: { redirect_to: wanted } }))).toBe(wanted)
    const email = anEmail()
    await post(server, '/magiclink', { email, redirect_to: wanted })
    const { links } = await server.inbox.waitForMail({ to: email })
    expect(new URL(links[0] ?? '').searchParams.get('redirect_to')).toBe(SITE)
  })
})

describe('AUTH_URI_ALLOW_LIST', () => {
  const start = (list: string) =>
    readConfig({
      AUTH_SITE_URL: SITE,
      AUTH_API_EXTERNAL_URL: 'https://auth.example.com',
      AUTH_DB_DRIVER: 'postgres',
      DATABASE_URL: 'postgres://localhost/x',
      AUTH_JWT_SECRET: JWT_SECRET,
      AUTH_EXTERNAL_EMAIL_ENABLED: 'false',
      AUTH_URI_ALLOW_LIST: list,
    })

  it('names every invalid pattern', () => {
    expect(() => start('*://a.example.com/,https://ok.example.com/**,https://**')).toThrow(
      /AUTH_URI_ALLOW_LIST: \*:\/\/a[^]*AUTH_URI_ALLOW_LIST: https:\/\/\*\*/,
    )
  })

  it.each([
    '**',
    '*://example.com/',
    'example.com/cb',
    'javascript:alert(1)',
    'data:**',
    'https://',
    'https:///path',
    'https://**.example.com/',
    'https://**:8000/',
    'https://*',
    'https://*.*/',
    'https://user@example.com/',
    'https://example.com\\cb',
    'https://example.com/%2F',
    'https://example.com:80x/',
    'https://example.com:8*/',
    'https://example.com/[ab]',
    'https://exa_mple.com/',
    'https://127.0.0.*/',
    'https://example.com/a b',
    'https://example.com/#/callback',
  ])('with %j in it is named at start', (pattern) => {
    expect(() => start(`https://ok.example.com/**,${pattern}`)).toThrow(/AUTH_URI_ALLOW_LIST/)
  })
})
