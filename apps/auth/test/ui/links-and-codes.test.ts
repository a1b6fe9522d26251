import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aPhone, aUser, mailTo, PASSWORD } from '../support/api.js'
import type { TestServer } from '../support/server.js'
import { startSmsServer, type SmsGateway } from '../support/sms-gateway.js'
import {
  aBrowser,
  APPLICATION,
  followLink,
  noticeOf,
  openLink,
  settle,
  signIn,
  startUi,
  submitted,
  uiPath,
} from './support.js'

let server: TestServer
let gateway: SmsGateway
beforeAll(async () => {
  ;({ gateway, server } = await startSmsServer({}, startUi))
})
afterAll(() => server.close())

describe('links and codes', () => {
  it('sign in by an emailed link, in the browser that asked for it', async () => {
    const user = await aUser(server)
    const browser = aBrowser(server)
    const page = await browser.get(uiPath({ redirect_to: APPLICATION }))
    const before = (await mailTo(server, user.email)).mail
    await browser.submit(page, '/ui/mail', { identifier: user.email })
    const { link = '' } = await mailTo(server, user.email, before)
    const done = await followLink(browser, link)
    expect(done.location).toContain(`${APPLICATION}#access_token=`)
  })

  it('let the code be typed after the link was opened in another browser', async () => {
    const user = await aUser(server)
    const browser = aBrowser(server)
    const page = await browser.get(uiPath({ redirect_to: APPLICATION }))
    const before = (await mailTo(server, user.email)).mail
    const asked = await submitted(browser, page, '/ui/mail', { identifier: user.email })
    const { link = '', code = '' } = await mailTo(server, user.email, before)
    await openLink(aBrowser(server), link)
    const done = await settle(browser, await browser.submit(asked, '/ui/code', { code }))
    expect(done.location).toContain(`${APPLICATION}#access_token=`)
  })

  it('do not serve another visit than the one they were asked for', async () => {
    const user = await aUser(server)
    const browser = aBrowser(server)
    const before = (await mailTo(server, user.email)).mail
    await browser.submit(await browser.get(uiPath({ redirect_to: APPLICATION })), '/ui/mail', {
      identifier: user.email,
    })
    const { link = '' } = await mailTo(server, user.email, before)
    const page = await browser.get(link)
    const other = new URL(page.location ?? '')
    other.searchParams.set('redirect_to', 'https://other.example.com/elsewhere')
    expect((await browser.get(other.href)).text).toContain('requested in another browser')
  })

  it('look the same for addresses that nobody has, and send nothing there', async () => {
    const user = await aUser(server)
    const nobody = anEmail()
    for (const [path, action, field] of [
      ['/ui', '/ui/mail', 'identifier'],
      ['/ui/forgot', '/ui/forgot', 'email'],
    ] as const) {
      const seen = await Promise.all(
        [user.email, nobody].map(async (address) => {
          const browser = aBrowser(server)
          const { status, text } = await submitted(browser, await browser.get(path), action, {
            [field]: address,
          })
          return { status, text: masked(text, address) }
        }),
      )
      expect(seen[0]).toEqual(seen[1])
    }
    expect(server.inbox.messages({ to: nobody })).toEqual([])
  })

  it('ask twice within a minute without telling who has an account', async () => {
    const user = await aUser(server)
    const texts: string[] = []
    for (let i = 0; i < 2; i += 1) {
      const browser = aBrowser(server)
      const page = await browser.get('/ui/forgot')
      texts.push(
        masked((await submitted(browser, page, '/ui/forgot', { email: user.email })).text, user.email),
      )
    }
    expect(texts[0]).toBe(texts[1])
  })

  it('let somebody choose a new password, and go on to the application', async () => {
    const user = await aUser(server)
    const before = (await mailTo(server, user.email)).mail
    const browser = aBrowser(server)
    const page = await browser.get(uiPath({ redirect_to: APPLICATION }, '/forgot'))
    await browser.submit(page, '/ui/forgot', { email: user.email })
    const { link = '' } = await mailTo(server, user.email, before)
    const form = await followLink(browser, link)
    expect(form.text).toContain('Choose a new password')
    const same = await browser.submit(form, '/ui/password', { password: PASSWORD })
    expect(noticeOf(same)).toContain('must differ from the current')
    const done = await browser.submit(same, '/ui/password', { password: 'another horse battery' })
    expect(done.location).toContain(`${APPLICATION}#access_token=`)
    const again = await signIn(aBrowser(server), user)
    expect([again.status, noticeOf(again)]).toEqual([400, 'The address or password is incorrect.'])
  })

  it('sign in by phone, only numbers that somebody has', async () => {
    const phone = aPhone()
    const registering = aBrowser(server)
    const form = await registering.get('/ui/sign-up')
    const sent = await submitted(registering, form, '/ui/sign-up', {
      identifier: `+${phone}`,
      password: PASSWORD,
    })
    await registering.submit(sent, '/ui/code', { code: gateway.codeFor(phone) })
    server.clock.advance(120_000)

    const browser = aBrowser(server)
    const asked = await submitted(browser, await browser.get('/ui/phone'), '/ui/phone', {
      phone: `+${phone}`,
    })
    const done = await settle(
      browser,
      await browser.submit(asked, '/ui/code', { code: gateway.codeFor(phone) }),
    )
    expect(done.text).toContain(phone)

    const count = gateway.messages.length
    const nobody = aBrowser(server)
    const unknown = await submitted(nobody, await nobody.get('/ui/phone'), '/ui/phone', {
      phone: `+${aPhone()}`,
    })
    expect(unknown.text).toContain('Enter the code')
    expect(gateway.messages).toHaveLength(count)
  })

  it.each([
    [
      'with punctuation',
      (phone: string) => `+${phone.slice(0, 2)} (${phone.slice(2, 5)}) ${phone.slice(5)}`,
      1,
    ],
    [
      'with a slash and a dot',
      (phone: string) =>
        `+${phone.slice(0, 2)}\u00A0${phone.slice(2, 5)}/${phone.slice(5, 8)}.${phone.slice(8)}`,
      1,
    ],
    [
      'with a zero for calls within the country',
      (phone: string) => `+${phone.slice(0, 2)} (0) ${phone.slice(2)}`,
      1,
    ],
    ['by pressing the button twice', (phone: string) => `+${phone}`, 2],
  ])('let somebody sign up who enters a number %s', async (_, typed, times) => {
    const phone = aPhone()
    const browser = aBrowser(server)
    const form = await browser.get('/ui/sign-up')
    const fields = { identifier: typed(phone), password: PASSWORD }
    let sent = form
    for (let time = 0; time < times; time += 1) sent = await submitted(browser, form, '/ui/sign-up', fields)
    expect(sent.text).toContain('Enter the code')
    const done = await browser.submit(sent, '/ui/code', { code: gateway.codeFor(phone) })
    expect((await settle(browser, done)).text).toContain(phone)
  })
})

/** A page without the parts that differ from visit to visit. */
const masked = (text: string, address: string): string =>
  text
    .replaceAll(address, 'ADDRESS')
    .replace(/name="csrf" value="[^"]*"/g, '')
    .replace(/nonce="[^"]*"/g, '')
    .replace(/sent(=|" value=")v1\.[\w-]*/g, '')
    .replace(/<strong>\d\d<\/strong>/, '')
