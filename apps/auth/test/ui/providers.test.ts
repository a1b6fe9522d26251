import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aUser } from '../support/api.js'
import { providerEnv, startFakeProvider, type FakeProvider } from '../support/fake-provider.js'
import type { TestServer } from '../support/server.js'
import { aBrowser, APPLICATION, noticeOf, settle, signIn, startUi, uiPath } from './support.js'

let server: TestServer
let provider: FakeProvider
beforeAll(async () => {
  provider = await startFakeProvider()
  server = await startUi(providerEnv('gitlab', provider.url))
})
afterAll(async () => {
  await server.close()
  await provider.close()
})

describe('providers', () => {
  const profile = (email: string) => {
    provider.answer('POST /oauth/token', { body: { access_token: 'provider-token', token_type: 'bearer' } })
    provider.answer('GET /api/v4/user', {
      body: { id: email, email, name: 'Ada', confirmed_at: '2020-01-01T00:00:00Z' },
    })
    provider.answer('GET /api/v4/user/emails', { body: [] })
  }
  const goOut = async (browser: ReturnType<typeof aBrowser>) => {
    const page = await browser.get(uiPath({ redirect_to: APPLICATION }))
    const out = await browser.submit(page, '/ui/provider', { provider: 'gitlab' })
    return new URL(out.location ?? '').searchParams.get('state') ?? ''
  }

  it('sign in, and the token of the provider goes to nobody', async () => {
    profile(anEmail())
    const browser = aBrowser(server)
    const state = await goOut(browser)
    const done = await settle(browser, await browser.get(`/callback?state=${state}&code=the-code`))
    expect(done.location).toContain(`${APPLICATION}#access_token=`)
    expect(done.location).not.toContain('provider-token')
  })

  it('do not sign another browser in', async () => {
    profile(anEmail())
    const state = await goOut(aBrowser(server))
    const victim = aBrowser(server)
    const seen = await victim.get(`/callback?state=${state}&code=the-code`)
    expect(seen.location).toContain('error_code=bad_oauth_state')
    expect((await victim.get('/ui')).text).not.toContain('You are signed in')
  })

  it.each([
    ['access_denied', 'en', 'Signing in there was cancelled. You can try again or choose another way.'],
    [
      'access_denied',
      'de',
      'Die Anmeldung dort wurde abgebrochen. Sie können es noch einmal versuchen oder einen anderen Weg wählen.',
    ],
    ['server_error', 'en', 'Something went wrong. Please try again.'],
  ])('that answer %s lead back to the page, in our words, in %s', async (error, language, notice) => {
    const browser = aBrowser(server, { 'accept-language': language })
    const state = await goOut(browser)
    const back = await browser.get(`/callback?state=${state}&error=${error}&error_description=Call+0800+EVIL`)
    const seen = await settle(browser, back)
    expect(noticeOf(seen)).toBe(notice)
    expect(seen.text).not.toContain('EVIL')
  })

  it('that refuse to be added lead back to the account page', async () => {
    const own = await startUi({
      ...providerEnv('gitlab', provider.url),
      AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
    })
    try {
      const [taken, browser] = [anEmail(), aBrowser(own)]
      profile(taken)
      const owner = aBrowser(own)
      const out = await owner.submit(await owner.get('/ui'), '/ui/provider', { provider: 'gitlab' })
      const first = new URL(out.location ?? '').searchParams.get('state') ?? ''
      await settle(owner, await owner.get(`/callback?state=${first}&code=the-code`))
      const user = await aUser(own)
      await settle(browser, await signIn(browser, user, { next: 'account' }))
      const page = await browser.get('/ui/account')
      const link = await browser.submit(page, '/ui/account/link', { provider: 'gitlab' })
      const state = new URL(link.location ?? '').searchParams.get('state') ?? ''
      const back = await settle(browser, await browser.get(`/callback?state=${state}&code=the-code`))
      expect(noticeOf(back)).toBe('This sign-in belongs to another account.')
      expect(back.text).toContain(user.email)
      expect(back.text).not.toContain('name="password"')
    } finally {
      await own.close()
    }
  })

  it('that could only end in an error, because callers must say more, are not offered', async () => {
    const own = await startUi({
      ...providerEnv('figma', provider.url),
      ...providerEnv('workos', provider.url),
    })
    try {
      const { text } = await aBrowser(own).get('/ui')
      expect(text.match(/Continue with [^<\n]*/g)).toEqual(['Continue with Figma'])
    } finally {
      await own.close()
    }
  })

  it('that are switched off are refused', async () => {
    const browser = aBrowser(server)
    const seen = await browser.submit(await browser.get('/ui'), '/ui/provider', { provider: 'github' })
    expect([seen.status, seen.location]).toEqual([400, null])
  })
})
