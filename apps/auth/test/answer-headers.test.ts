import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { authRoutes } from '../src/app.js'
import { anEmail, aUser, call, get, mailTo, PASSWORD, post, UUID, type ApiAnswer } from './support/api.js'
import { depart, targetOf, type Reply } from './support/fake-provider.js'
import { anId, startProviderSite, type ProviderSite } from './support/provider-site.js'
import { startServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

/** Answers that may be cached, because they are public and the same for everybody. */
const KEPT = new Set(['/.well-known/jwks.json', '/openapi.json', '/docs', '/docs.js'])

let site: ProviderSite
beforeAll(async () => {
  site = await startProviderSite({ AUTH_RATE_LIMIT_VERIFY: '100000' })
})
afterAll(() => site.close())

const shown = ({ headers }: ApiAnswer) => ({
  caching: headers.get('cache-control'),
  sniffing: headers.get('x-content-type-options'),
})
const GUARDED = { caching: 'no-store', sniffing: 'nosniff' }

describe('every answer', () => {
  it('of every route has no-store and nosniff, with any status', async () => {
    const { access_token: token } = await aUser(site.server)
    for (const { method, path } of authRoutes(site.server.context)) {
      if (KEPT.has(path)) continue
      for (const bearer of [undefined, token, serviceToken()]) {
        const options = { token: bearer, ...(method === 'get' ? {} : { body: {} }) }
        const answer = await call(site.server, method.toUpperCase(), path.replace(/:\w+/g, UUID), options)
        expect({ path, ...shown(answer) }).toEqual({ path, ...GUARDED })
      }
    }
    for (const path of ['/nowhere', '/ui', '/ui/nowhere', '/%ff'])
      expect({ path, ...shown(await get(site.server, path)) }).toEqual({ path, ...GUARDED })
    expect(shown(await get(site.server, '/.well-known/jwks.json')).sniffing).toBe('nosniff')
  })

  it('that contains a token has them too', async () => {
    const { server } = site
    const user = await aUser(server)
    const mail = async (path: string, body: object, after?: { id: number }) => {
      await post(server, path, body)
      return mailTo(server, user.email, after)
    }
    site.figma(anId(), anEmail())
    const { state, answer: out } = await depart(server, 'figma')
    const first = await mailTo(server, user.email)
    const answers = [
      await post(server, '/signup', { data: {} }),
      await post(server, '/token?grant_type=password', { email: user.email, password: PASSWORD }),
      await post(server, '/token?grant_type=refresh_token', { refresh_token: user.refresh_token }),
      await get(server, `/callback?code=c&state=${state}`, {
        headers: { cookie: out.headers.getSetCookie()[0]?.split(';')[0] ?? '' },
      }),
      await get(server, linkPath((await mail('/recover', { email: user.email }, first.mail)).link)),
      await post(
        server,
        '/admin/generate_link',
        { type: 'magiclink', email: user.email },
        { token: serviceToken() },
      ),
    ]
    for (const answer of answers) {
      expect(`${answer.text}${answer.headers.get('location') ?? ''}`).toMatch(/access_token=|_token"/)
      expect(shown(answer)).toEqual(GUARDED)
    }
  })
})

const linkPath = (link = ''): string => link.replace(/^.*\/auth\/v1/, '')

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const TARGET = 'https://other.example.com/cb'

describe('in a browser, an error is an HTML page', () => {
  const inBrowser = (path: string, server = site.server) =>
    get(server, path, { headers: { accept: BROWSER } })
  const expectPage = (answer: ApiAnswer, status: number) => {
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'text/html; charset=utf-8'])
    expect(answer.text).toContain('<h1>')
    expect(shown(answer)).toEqual(GUARDED)
  }

  it('for an incomplete link, and for a provider that is off', async () => {
    expectPage(await inBrowser('/verify?type=signup'), 400)
    expectPage(await inBrowser('/authorize?provider=pigeon'), 400)
  })

  it('when a provider cannot be reached', async () => {
    const away = await startProviderSite({
      AUTH_EXTERNAL_TWITTER_ENABLED: 'true',
      AUTH_EXTERNAL_TWITTER_CLIENT_ID: 'id',
      AUTH_EXTERNAL_TWITTER_SECRET: 'secret',
      AUTH_EXTERNAL_TWITTER_REDIRECT_URI: 'https://auth.example.com/auth/v1/callback',
      AUTH_EXTERNAL_TWITTER_URL: 'http://127.0.0.1:1',
    })
    try {
      expectPage(await inBrowser('/authorize?provider=twitter', away.server), 500)
    } finally {
      await away.close()
    }
  })

  it('or leads to the application, when a provider is away on the way back', async () => {
    const away = await startProviderSite(
      { AUTH_EXTERNAL_GITHUB_URL: 'http://127.0.0.1:1' },
      { providerBudgetMs: 500 },
    )
    const comeBack = async (provider: string, method: 'GET' | 'POST') => {
      const { state, answer: out } = await depart(away.server, provider, { redirect_to: TARGET })
      const cookie = out.headers.getSetCookie()[0]?.split(';')[0] ?? ''
      const headers = { accept: BROWSER, cookie, 'Content-Type': 'application/x-www-form-urlencoded' }
      const parameters = `state=${state}&code=c`
      return method === 'GET'
        ? get(away.server, `/callback?${parameters}`, { headers })
        : post(away.server, '/callback', parameters, { headers })
    }
    const faults: [fault: string, provider: string, answer: Reply][] = [
      ['fails', 'figma', { status: 500, body: '<h1>Oops</h1>' }],
      ['breaks off', 'figma', 'break'],
      ['never answers', 'figma', 'hang'],
      ['refuses connections', 'github', {}],
    ]
    try {
      for (const [fault, provider, reply] of faults) {
        away.provider.answer('POST /v1/oauth/token', reply)
        for (const method of ['GET', 'POST'] as const) {
          const answer = await comeBack(provider, method)
          const { base, query } = targetOf(answer)
          const seen = { fault, method, status: answer.status, base, error: query['error'] }
          expect(seen).toEqual({ fault, method, status: 302, base: TARGET, error: 'server_error' })
          expect(answer.text).not.toContain('{')
          expect(shown(answer)).toEqual(GUARDED)
        }
      }
    } finally {
      await away.close()
    }
  })

  it('when the rate limit is reached', async () => {
    const strict = await startServer({
      AUTH_RATE_LIMIT_VERIFY: '1',
      AUTH_RATE_LIMIT_HEADER: 'x-client',
    })
    try {
      const headers = { accept: 'text/html', 'x-client': 'a' }
      let answer = await get(strict, '/verify?type=signup&token=x', { headers })
      for (let tries = 0; answer.status !== 429 && tries < 100; tries += 1)
        answer = await get(strict, '/verify?type=signup&token=x', { headers })
      expectPage(answer, 429)
      expect(answer.headers.get('retry-after')).not.toBeNull()
    } finally {
      await strict.close()
    }
  })

  it('when the database is down, also on the way back from a provider', async () => {
    const cut = await startProviderSite()
    try {
      const { state, answer: out } = await depart(cut.server, 'figma')
      const cookie = out.headers.getSetCookie()[0]?.split(';')[0] ?? ''
      await cut.server.context.db.close()
      expect((await inBrowser(`/callback?state=${UUID}&code=c`, cut.server)).status).toBe(303)
      const headers = { accept: 'text/html', cookie }
      const form = { ...headers, 'Content-Type': 'application/x-www-form-urlencoded' }
      for (const answer of [
        await inBrowser('/verify?type=signup&token=x', cut.server),
        await get(cut.server, `/callback?state=${state}&code=c`, { headers }),
        await post(cut.server, '/callback', `state=${state}&code=c`, { headers: form }),
      ]) {
        expect(answer.status).toBeGreaterThanOrEqual(500)
        expectPage(answer, answer.status)
      }
    } finally {
      await cut.close()
    }
  })

  it('and JSON everywhere else', async () => {
    const answer = await get(site.server, '/verify?type=signup')
    expect(answer.headers.get('content-type')).toContain('application/json')
    const posted = await call(site.server, 'POST', '/verify', { body: {}, headers: { accept: 'text/html' } })
    expect(posted.headers.get('content-type')).toContain('application/json')
  })
})
