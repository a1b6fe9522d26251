import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { TOTP } from 'otpauth'
import { FormBrowser } from '@signet/testkit'
import { anEmail, aPhone, aUser, get, PASSWORD, post, put, type ApiAnswer } from '../support/api.js'
import type { TestServer } from '../support/server.js'
import { onAccount, startWithEveryWay } from './account-support.js'
import { APPLICATION, aUserWithTotp, fragmentOf, submitted, uiPath } from './support.js'

const NEW_PASSWORD = 'the thief is in'

let server: TestServer
let site: string
beforeAll(async () => {
  ;({ server, site } = await startWithEveryWay())
})
afterAll(() => server.close())

/** The access token that anyone who has the browser gets from it with two clicks. */
async function tokenOf(browser: FormBrowser, query: Record<string, string> = {}): Promise<string> {
  const page = await browser.get(uiPath({ redirect_to: APPLICATION, ...query }))
  return fragmentOf(await browser.submit(page, '/ui/continue'))['access_token'] ?? ''
}

const tenMinutes = () => server.clock.advance(600_000)

type Way = { name: string; take: (token: string) => Promise<ApiAnswer> }
const ways: Way[] = [
  {
    name: 'an authenticator app',
    take: (token) => post(server, '/factors', { factor_type: 'totp', friendly_name: 'x' }, { token }),
  },
  {
    name: 'a phone as second factor',
    take: (token) => post(server, '/factors', { factor_type: 'phone', phone: aPhone() }, { token }),
  },
  { name: 'a passkey', take: (token) => post(server, '/passkeys/registration/options', {}, { token }) },
  {
    name: 'a provider',
    take: (token) =>
      get(server, '/user/identities/authorize?provider=gitlab&skip_http_redirect=true', { token }),
  },
  { name: 'another email address', take: (token) => put(server, '/user', { email: anEmail() }, { token }) },
  { name: 'another phone number', take: (token) => put(server, '/user', { phone: aPhone() }, { token }) },
]

describe('ten minutes after the last proof, a session that the pages hand over', () => {
  it.each(ways)('does not add $name, and does after a new sign-in', async ({ take }) => {
    const user = await aUser(server)
    const { browser } = await onAccount(server, user, new FormBrowser(site))
    const early = await tokenOf(browser)
    tenMinutes()
    for (const token of [early, await tokenOf(browser)]) {
      const refused = await take(token)
      expect([refused.status, refused.body['error_code']]).toEqual([403, 'reauthentication_needed'])
    }
    const again = await browser.get(uiPath({ redirect_to: APPLICATION, prompt: 'login' }))
    const back = await browser.submit(again, '/ui/sign-in', { identifier: user.email, password: PASSWORD })
    expect((await take(fragmentOf(back)['access_token'] ?? '')).status).toBe(200)
  })

  it.each(ways)('may add $name as long as the proof is recent', async ({ take }) => {
    const { browser } = await onAccount(server, await aUser(server), new FormBrowser(site))
    expect((await take(await tokenOf(browser))).status).toBe(200)
  })

  it('makes no recovery codes', async () => {
    const user = await aUserWithTotp(server)
    const { browser, page } = await onAccount(server, user, new FormBrowser(site))
    await submitted(browser, page, '/ui/factor', { code: user.code() })
    const token = await tokenOf(browser)
    expect((await post(server, '/recovery-codes', {}, { token })).status).toBe(200)
    tenMinutes()
    const refused = await post(server, '/recovery-codes', {}, { token: await tokenOf(browser) })
    expect([refused.status, refused.body['error_code']]).toEqual([403, 'reauthentication_needed'])
  })

  it('sets a password only with the current one, or with a code to the owner', async () => {
    const user = await aUser(server)
    const { browser } = await onAccount(server, user, new FormBrowser(site))
    tenMinutes()
    const token = await tokenOf(browser)
    const set = (more: object) => put(server, '/user', { password: NEW_PASSWORD, ...more }, { token })
    expect((await set({})).body['error_code']).toBe('current_password_required')
    expect((await set({ current_password: 'a guess' })).body['error_code']).toBe('current_password_invalid')
    expect((await set({ nonce: '000000' })).body['error_code']).toBe('reauthentication_not_valid')
    const guess = { nonce: '000000', password: PASSWORD }
    expect((await set(guess)).body['error_code']).toBe('reauthentication_not_valid')
    expect((await set({ current_password: PASSWORD })).status).toBe(200)
  })

  it('sets no password where there is neither one nor a proven address, and does not finish a factor begun in time', async () => {
    const user = await aUser(server)
    const { browser } = await onAccount(server, user, new FormBrowser(site))
    const token = await tokenOf(browser)
    const begun = await post(server, '/factors', { factor_type: 'totp', friendly_name: 'x' }, { token })
    const { id, totp } = begun.body as { id: string; totp: { secret: string } }
    await server.context.db.query(
      `update users set encrypted_password = null, email = null, email_confirmed_at = null where id = $1`,
      [user.user.id],
    )
    await server.context.db.query(`update identities set provider = 'gitlab' where user_id = $1`, [
      user.user.id,
    ])
    tenMinutes()
    const password = await put(server, '/user', { password: NEW_PASSWORD }, { token })
    expect([password.status, password.body['error_code']]).toEqual([403, 'reauthentication_needed'])
    const page = await browser.get('/ui/password')
    expect([page.status, new URL(page.location ?? '', site).searchParams.get('prompt')]).toEqual([
      303,
      'login',
    ])
    const challenge = await post(server, `/factors/${id}/challenge`, {}, { token })
    const code = new TOTP({ secret: totp.secret }).generate({ timestamp: server.clock.now().getTime() })
    const answer = { challenge_id: challenge.body['id'], code }
    const refused = await post(server, `/factors/${id}/verify`, answer, { token })
    expect([refused.status, refused.body['error_code']]).toEqual([403, 'reauthentication_needed'])
  })

  it('changes what opens no account, and one that an application got by itself changes everything', async () => {
    const user = await aUser(server)
    const { browser } = await onAccount(server, user, new FormBrowser(site))
    tenMinutes()
    const token = await tokenOf(browser)
    expect((await put(server, '/user', { data: { theme: 'dark' } }, { token })).status).toBe(200)
    for (const { take } of ways) expect((await take(user.access_token)).status).toBe(200)
    const change = { password: NEW_PASSWORD }
    expect((await put(server, '/user', change, { token: user.access_token })).status).toBe(200)
  })
})
