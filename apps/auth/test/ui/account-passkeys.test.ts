import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { FormBrowser, SoftwareAuthenticator, type Seen } from '@signet/testkit'
import { aUser, get, PASSWORD, type Json, type SignedUp } from '../support/api.js'
import type { TestServer } from '../support/server.js'
import { aUserWithTotp, noticeOf, onLocalhost, optionsOn, settle, startUi, submitted } from './support.js'

let server: TestServer
let site: string
beforeAll(async () => {
  const local = await onLocalhost()
  site = local.site
  server = await startUi({ ...local.env, AUTH_PASSKEY_MAX_PASSKEYS_PER_USER: '1' })
})
afterAll(() => server.close())

async function onAccount({ email }: SignedUp): Promise<{ browser: FormBrowser; page: Seen }> {
  const browser = new FormBrowser(site)
  const first = await settle(browser, await browser.get('/ui/account'))
  const page = await submitted(browser, first, '/ui/sign-in', { identifier: email, password: PASSWORD })
  return { browser, page }
}

/** Creates a passkey as the script of the page does. */
async function create(browser: FormBrowser): Promise<Seen> {
  const page = await browser.get('/ui/account/passkey')
  const credential = new SoftwareAuthenticator({ origin: site }).create(optionsOn(page))
  return submitted(browser, page, '/ui/account/passkey', { credential: JSON.stringify(credential) })
}

const passkeysOf = async ({ access_token: token }: SignedUp) =>
  JSON.parse((await get(server, '/passkeys', { token })).text) as (Json & { id: string })[]

describe('passkeys on the account page', () => {
  it('belong to their owner: nobody else renames or removes them', async () => {
    const owner = await aUser(server)
    const { browser } = await onAccount(owner)
    await create(browser)
    const [passkey] = await passkeysOf(owner)
    const stranger = await aUser(server)
    const other = await onAccount(stranger)
    const theirs = await create(other.browser)
    for (const below of ['rename', 'remove']) {
      const wanted = { passkey: passkey?.id ?? '', name: 'mine now' }
      const answer = await other.browser.submit(theirs, `/ui/account/passkey/${below}`, wanted)
      expect([below, answer.status, noticeOf(answer)]).toEqual([
        below,
        404,
        'This passkey has already been removed.',
      ])
    }
    expect(await passkeysOf(owner)).toEqual([passkey])
  })

  it('are refused from forms elsewhere, and without the script', async () => {
    const { browser } = await onAccount(await aUser(server))
    for (const below of ['', '/rename', '/remove'])
      expect([below, (await browser.post(`/ui/account/passkey${below}`, {})).status]).toEqual([below, 403])
    const page = await browser.get('/ui/account/passkey')
    expect((await browser.submit(page, '/ui/account/passkey')).status).toBe(400)
  })

  it('wait for the second factor', async () => {
    const { browser } = await onAccount(await aUserWithTotp(server))
    const page = await settle(browser, await browser.get('/ui/account/passkey'))
    expect(new URL(page.url).pathname).toBe('/ui/factor')
  })

  it('say when there are as many as allowed, and are in the download and the recent activity', async () => {
    const { browser, page } = await onAccount(await aUser(server))
    expect(page.text).toContain('by unlocking your device')
    expect((await create(browser)).text).toContain('Passkey created')
    const full = await browser.get('/ui/account/passkey')
    expect(noticeOf(full)).toContain('You have the maximum number of passkeys.')
    expect(full.text).not.toContain('data-options')
    const { passkeys } = JSON.parse((await browser.get('/ui/account/export')).text) as { passkeys: Json[] }
    expect(passkeys).toMatchObject([{ friendly_name: 'Passkey', last_used_at: null }])
  })
})
