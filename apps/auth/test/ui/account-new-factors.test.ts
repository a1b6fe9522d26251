import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { FormBrowser, SoftwareAuthenticator, type Seen } from '@signet/testkit'
import { aPhone, aUser } from '../support/api.js'
import type { TestServer } from '../support/server.js'
import type { SmsGateway } from '../support/sms-gateway.js'
import { activityOn, onAccount, startAccount, statusOf } from './account-support.js'
import { noticeOf, onLocalhost, optionsOn, settle, submitted } from './support.js'

const KEY = '/ui/account/security-key'
const PHONE = '/ui/account/phone-factor'

let server: TestServer
let gateway: SmsGateway
let site: string
beforeAll(async () => {
  const local = await onLocalhost()
  site = local.site
  ;({ gateway, server } = await startAccount({
    ...local.env,
    AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
    AUTH_MFA_PHONE_VERIFY_ENABLED: 'true',
    AUTH_MFA_PHONE_MAX_FREQUENCY: '0',
  }))
})
afterAll(() => server.close())

const here = async (user: Awaited<ReturnType<typeof aUser>>) => onAccount(server, user, new FormBrowser(site))
const inside = async () => {
  const user = await aUser(server)
  return { user, ...(await here(user)) }
}

/** The code of the newest SMS, once all pending messages have been sent. */
async function newestCode(phone: string): Promise<string> {
  await server.settled()
  return gateway.codeFor(phone)
}

describe('a security key on the account page', () => {
  const named = async (browser: FormBrowser, name = 'on my key ring') =>
    submitted(browser, await browser.get(KEY), KEY, { name })
  const answer = (key: SoftwareAuthenticator, page: Seen) => ({
    credential: JSON.stringify(key.create(optionsOn(page))),
  })

  it('is added under a name, asked for at the next sign-in, and removed', async () => {
    const { user, browser, page } = await inside()
    expect(page.text).toContain(`href="${KEY}"`)
    const key = new SoftwareAuthenticator({ origin: site })
    server.clock.advance(1_000)
    const asked = await named(browser)
    const added = await submitted(browser, asked, KEY, answer(key, asked))
    expect(statusOf(added)).toContain('The security key was added.')
    expect(added.text).toContain('on my key ring')
    expect(activityOn(added)[0]).toBe('Second factor added: Security key')
    await server.inbox.waitForMail({ to: user.email, subject: /verification method was added/ })

    const { browser: elsewhere, page: factor } = await here(user)
    expect(new URL(factor.url).pathname).toBe('/ui/factor')
    const assertion = key.get(optionsOn(factor))
    const home = await submitted(elsewhere, factor, '/ui/factor', { credential: JSON.stringify(assertion) })
    const removed = await submitted(elsewhere, home, '/ui/account/factor/remove')
    expect(statusOf(removed)).toBe('The second factor was removed.')
    expect(removed.text).not.toContain('on my key ring')
  })

  it('is asked for in two tabs, either of which may be answered', async () => {
    const { user, browser } = await inside()
    const key = new SoftwareAuthenticator({ origin: site })
    const asked = await named(browser)
    await submitted(browser, asked, KEY, answer(key, asked))
    const { browser: elsewhere, page: first } = await here(user)
    await elsewhere.get('/ui/factor')
    const assertion = JSON.stringify(key.get(optionsOn(first)))
    const home = await submitted(elsewhere, first, '/ui/factor', { credential: assertion })
    expect(new URL(home.url).pathname).toBe('/ui/account')
  })

  it('reuses the name of a setup that was abandoned', async () => {
    const { browser } = await inside()
    const phone = { phone: `+${aPhone()}`, name: 'on my key ring' }
    await submitted(browser, await browser.get(PHONE), PHONE, phone)
    for (const again of [await named(browser), await named(browser)]) {
      expect(noticeOf(again)).toBeUndefined()
      expect(again.text).toContain('data-webauthn="create"')
    }
  })

  it('can be started again any number of times', async () => {
    const { browser } = await inside()
    for (let left = 0; left < 11; left++) await named(browser, `key ${left}`)
    const again = await named(browser)
    expect(noticeOf(again)).toBeUndefined()
    expect(again.text).toContain('data-webauthn="create"')
  })

  it('is refused from another site, and from the browser of another person', async () => {
    const { browser } = await inside()
    const asked = await named(browser)
    const phished = new SoftwareAuthenticator({ origin: 'https://evil.example' })
    const refused = await submitted(browser, asked, KEY, answer(phished, asked))
    expect([refused.status, noticeOf(refused)]).toEqual([422, expect.any(String)])
    const other = await inside()
    const fields = { setup: new URL(asked.url).searchParams.get('setup') ?? '' }
    const taken = await other.browser.submit(await named(other.browser), KEY, {
      ...fields,
      ...answer(new SoftwareAuthenticator({ origin: site }), asked),
    })
    expect(new URL(taken.location ?? '', site).pathname).toBe('/ui/account')
    expect((await settle(browser, await browser.get('/ui/account'))).text).not.toContain('on my key ring')
  })
})

describe('a phone as second factor on the account page', () => {
  it('is added with the code of an SMS, asked for at the next sign-in, and removed', async () => {
    const { user, browser } = await inside()
    const phone = aPhone()
    const page = await browser.get(PHONE)
    const sent = await submitted(browser, page, PHONE, { phone: `+${phone}`, name: 'work phone' })
    const first = await newestCode(phone)
    const again = await submitted(browser, sent, `${PHONE}/send`)
    const late = await submitted(browser, again, PHONE, { code: first === '000000' ? '000001' : '000000' })
    expect(noticeOf(late)).toContain('wrong')
    const added = await submitted(browser, late, PHONE, { code: await newestCode(phone) })
    expect(statusOf(added)).toContain('The phone was added.')
    expect(added.text).toContain('work phone')

    const { browser: elsewhere, page: factor } = await here(user)
    expect(factor.text).not.toContain(phone)
    const waiting = await submitted(elsewhere, factor, '/ui/factor/send')
    const home = await submitted(elsewhere, waiting, '/ui/factor', { code: await newestCode(phone) })
    expect(statusOf(await submitted(elsewhere, home, '/ui/account/factor/remove'))).toBe(
      'The second factor was removed.',
    )
  })

  it('is refused at its field when the number is only a country, and keeps what was typed', async () => {
    const { browser } = await inside()
    const refused = await submitted(browser, await browser.get(PHONE), PHONE, { phone: '+49', name: 'mine' })
    expect(refused.text).toMatch(/id="phone"[^>]*aria-invalid="true"/)
    expect(refused.text).toContain('value="mine"')
  })
})
