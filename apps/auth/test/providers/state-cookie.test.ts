import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aUser, call, get, post, type ApiAnswer } from '../support/api.js'
import { cookiesOf, depart, providerEnv, targetOf } from '../support/fake-provider.js'
import {
  anId,
  confirmLink,
  formOf,
  identitiesOf,
  linkAddress,
  startProviderSite,
  type ProviderSite,
} from '../support/provider-site.js'
import { startServer } from '../support/server.js'

let site: ProviderSite
beforeAll(async () => {
  site = await startProviderSite()
})
afterAll(() => site.close())

/** Returns from the provider in a browser that has these cookies. */
const callback = (state: string, cookie = ''): Promise<ApiAnswer> =>
  get(site.server, `/callback?code=the-code&state=${state}`, { headers: { cookie } })

const shownTo = async (token: string) => identitiesOf((await get(site.server, '/user', { token })).body)

describe('a sign-in through a provider ends in the browser that started it', () => {
  it('so a stranger cannot sign someone in by sending them their own callback', async () => {
    site.figma(anId(), anEmail())
    const { state, answer } = await depart(site.server, 'figma')
    const victim = targetOf(await callback(state))
    expect(victim.fragment).not.toHaveProperty('access_token')
    expect(victim.query['error_code']).toBe('bad_oauth_state')
    // The attempt did not end the sign-in either: the browser that began it can still finish it.
    const own = await callback(state, cookiesOf(answer))
    expect(targetOf(own).fragment).toHaveProperty('access_token')
  })

  it('even if that browser is in the middle of another sign-in', async () => {
    const mine = await depart(site.server, 'figma')
    const foreign = await depart(site.server, 'figma')
    const target = targetOf(await callback(foreign.state, cookiesOf(mine.answer)))
    expect(target.query['error_code']).toBe('bad_oauth_state')
  })

  it('which must present a cookie that nobody can forge', async () => {
    const { state, answer } = await depart(site.server, 'figma')
    const [name = '', value = ''] = cookiesOf(answer).split('=')
    const { answer: other } = await depart(site.server, 'figma')
    const forged = ['', 'x', state, value.slice(1), cookiesOf(other).split('=')[1] ?? '']
    for (const guess of forged) {
      const target = targetOf(await callback(state, `${name}=${guess}`))
      expect(target.query['error_code']).toBe('bad_oauth_state')
    }
  })

  it('in each of several tabs', async () => {
    site.figma(anId(), anEmail())
    const tabs = [await depart(site.server, 'figma'), await depart(site.server, 'figma')]
    const cookie = tabs.map(({ answer }) => cookiesOf(answer)).join('; ')
    for (const { state } of tabs.reverse()) {
      const answer = await callback(state, cookie)
      expect(targetOf(answer).fragment).toHaveProperty('access_token')
      expect(answer.headers.get('set-cookie')).toContain('Max-Age=0')
    }
  })

  it('by a cookie hidden from scripts, other hosts and plain connections', async () => {
    const { answer, state } = await depart(site.server, 'figma')
    expect(answer.headers.get('set-cookie')).toMatch(
      new RegExp(
        `^__Host-signet_flow_${state}=[\\w-]{43}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=300$`,
      ),
    )
  })

  it('by one that cross-site form posts carry, for providers that return by form post', async () => {
    const server = await startServer(providerEnv('apple', 'https://apple.example.com'))
    try {
      const { answer } = await depart(server, 'apple')
      expect(answer.headers.get('set-cookie')).toContain('; Secure; HttpOnly; SameSite=None;')
    } finally {
      await server.close()
    }
  })

  it('by one that works without TLS during development', async () => {
    const server = await startServer({
      ...providerEnv('github', 'http://127.0.0.1:1'),
      AUTH_API_EXTERNAL_URL: 'http://localhost:9999',
    })
    try {
      const { answer, state } = await depart(server, 'github')
      const cookie = answer.headers.get('set-cookie')
      expect(cookie).toContain(`signet_flow_${state}=`)
      expect(cookie).not.toMatch(/Secure|__Host/)
    } finally {
      await server.close()
    }
  })
})

describe('a sign-in method is added only by the person in front of the browser', () => {
  it('not by someone who follows everything an attacker can send them', async () => {
    const attacker = await aUser(site.server)
    site.figma(anId(), anEmail())
    const link = await linkAddress(site.server, attacker.access_token, 'figma')
    // The attacker confirms alone, and sends the rest to a victim who is signed in at the provider.
    const { state } = await confirmLink(site.server, link)
    expect(targetOf(await callback(state)).query['error_code']).toBe('bad_oauth_state')
    // Or the attacker sends the whole address. It opens a page that asks for confirmation and names the account.
    const seen = await get(site.server, link)
    expect([seen.status, seen.headers.get('location')]).toEqual([200, null])
    expect(seen.text).toContain(attacker.email)
    expect(seen.headers.get('x-frame-options')).toBe('DENY')
    expect(await shownTo(attacker.access_token)).toEqual(['email'])
  })

  it('not by a form that another site sends', async () => {
    const attacker = await aUser(site.server)
    const link = await linkAddress(site.server, attacker.access_token, 'figma')
    const page = await get(site.server, link)
    const form = formOf(page)
    const send = (headers: Record<string, string>) =>
      call(site.server, 'POST', '/authorize/confirm', {
        body: String(form),
        headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
      })
    const cookie = cookiesOf(page)
    const foreign = cookiesOf(await get(site.server, link))
    const attempts: Record<string, string>[] = [
      {},
      { cookie: foreign },
      { cookie, origin: 'https://evil.com' },
      { cookie, 'sec-fetch-site': 'cross-site' },
    ]
    for (const headers of attempts) {
      const answer = await send(headers)
      expect([answer.status, answer.headers.get('location')]).toEqual([403, null])
    }
    expect((await send({ cookie })).status).toBe(303)
  })

  it('but by someone who confirms it on the page', async () => {
    const user = await aUser(site.server)
    site.figma(anId(), anEmail())
    const { state, cookie } = await confirmLink(
      site.server,
      await linkAddress(site.server, user.access_token, 'figma'),
    )
    expect(targetOf(await callback(state, cookie)).fragment).toHaveProperty('access_token')
    expect(await shownTo(user.access_token)).toEqual(['email', 'figma'])
  })

  it('and asks, or says why it cannot, in the language of the reader', async () => {
    const headers = { 'accept-language': 'de', accept: 'text/html' }
    const guest = await post(site.server, '/signup', {})
    const link = await linkAddress(site.server, String(guest.body['access_token']), 'figma')
    expect((await get(site.server, link, { headers })).text).toContain('<strong>einem Gast</strong>')
    expect((await get(site.server, '/authorize/confirm?link=x', { headers })).text).toContain(
      'Dieser Link funktioniert nicht mehr. Beginnen Sie in der Anwendung noch einmal.',
    )
    const foreign = await call(site.server, 'POST', '/authorize/confirm', {
      body: String(formOf(await get(site.server, link))),
      headers: { ...headers, 'Content-Type': 'application/x-www-form-urlencoded' },
    })
    expect([foreign.status, foreign.text]).toEqual([
      403,
      expect.stringContaining('Dieses Formular kam nicht von einer Seite'),
    ])
  })

  it('not by an expired link', async () => {
    const user = await aUser(site.server)
    const link = await linkAddress(site.server, user.access_token, 'figma')
    const page = await get(site.server, link)
    site.server.clock.advance(300_000)
    expect((await get(site.server, link)).status).toBe(400)
    const answer = await call(site.server, 'POST', '/authorize/confirm', {
      body: String(formOf(page)),
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', cookie: cookiesOf(page) },
    })
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null])
  })

  it.each(['', '?link=x', '?link=v1.AAAA'])(
    'and shows no question at /authorize/confirm%s',
    async (query) => {
      const answer = await get(site.server, `/authorize/confirm${query}`)
      expect(answer.status).toBe(400)
      expect(answer.headers.get('content-type')).toContain('text/html')
    },
  )
})
