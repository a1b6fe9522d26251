import { afterAll, beforeAll, it } from '@jest/globals'
import { describeInBrowser } from '@signet/testkit/browser'
import type { TestServer } from '../support/server.js'
import { startSmsServer } from '../support/sms-gateway.js'
import { inChromium } from './chromium.js'
import { aBrowser, aUserWithTotp, startUi, submitted } from './support.js'

describeInBrowser('the sign-in pages in Chromium', () => {
  let server: TestServer
  beforeAll(async () => {
    ;({ server } = await startSmsServer({}, startUi))
  })
  afterAll(async () => {
    await server.close()
  })
  const { page, open, press, signIn, check } = inChromium(() => server)

  it.each([
    ['a narrow phone', { width: 320, height: 640 }],
    ['a desktop', { width: 1100, height: 760 }],
  ])('on %s are accessible in light and dark, nothing cut off, nothing external', async (name, viewport) => {
    await page().setViewportSize(viewport)
    const user = await aUserWithTotp(server)
    const look = (what: string) => check(`${what}-${viewport.width}`)
    await open({ redirect_to: `https://other.example.com/${'long'.repeat(20)}` })
    await look('sign-in')
    await signIn(`${'a'.repeat(60)}@${'b'.repeat(60)}.example.com`, 'wrong')
    await look('refused')
    for (const below of ['/sign-up', '/forgot', '/phone']) {
      await open({}, below)
      await look(below.slice(1))
    }
    await open({}, '/forgot')
    await page()
      .getByLabel('Email')
      .fill(`${'a'.repeat(60)}@${'b'.repeat(60)}.example.com`)
    await press('Email me a link')
    await look('code')
    await open({}, '/link?type=magiclink&token=used')
    await look('dead-link')
    const asking = aBrowser(server)
    await submitted(asking, await asking.get('/ui/forgot'), '/ui/forgot', { email: user.email })
    // The subject identifies the email, because an earlier one may be sent twice on a busy machine.
    const { links } = await server.inbox.waitForMail({ to: user.email, subject: 'Reset your password' })
    await page().goto(links.find((url) => url.includes('token=')) ?? '')
    await look('link-elsewhere')
    await page().goto(`${server.url}/`)
    await look('landing')
    await open()
    await signIn(user.email)
    await look('factor')
    await page().getByLabel('Code').fill(user.code())
    await press('Continue')
    await look('account')
    await open({}, '/password')
    await look('password')
    await open({}, '/sign-out')
    await look('sign-out')
    await open({}, '/nothing')
    await look(`error page on ${name}`)
  })
})
