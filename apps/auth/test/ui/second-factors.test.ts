import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { decodeJwt } from 'jose'
import { aPhone, aUser, mailTo, post } from '../support/api.js'
import type { TestServer } from '../support/server.js'
import { startSmsServer, type SmsGateway } from '../support/sms-gateway.js'
import {
  aBrowser,
  APPLICATION,
  aUserWithTotp,
  followLink,
  fragmentOf,
  noticeOf,
  settle,
  signIn,
  startUi,
  uiPath,
} from './support.js'

let server: TestServer
let gateway: SmsGateway
beforeAll(async () => {
  ;({ gateway, server } = await startSmsServer(
    { AUTH_MFA_PHONE_ENROLL_ENABLED: 'true', AUTH_MFA_PHONE_VERIFY_ENABLED: 'true' },
    startUi,
  ))
})
afterAll(() => server.close())

describe('second factors', () => {
  it('come before any application gets a session', async () => {
    const user = await aUserWithTotp(server)
    const browser = aBrowser(server)
    const page = await settle(browser, await signIn(browser, user, { redirect_to: APPLICATION }))
    expect(page.text).toContain('my app')
    const wrong = await browser.submit(page, '/ui/factor', { code: '000000' })
    expect(noticeOf(wrong)).toContain('wrong')
    const done = await browser.submit(wrong, '/ui/factor', { code: user.code() })
    expect(decodeJwt(fragmentOf(done)['access_token'] ?? '')).toMatchObject({ aal: 'aal2' })
  })

  it('cannot be walked around', async () => {
    const user = await aUserWithTotp(server)
    const browser = aBrowser(server)
    const page = await settle(browser, await signIn(browser, user))
    for (const path of ['/ui', '/ui/password', uiPath({ redirect_to: APPLICATION })]) {
      const seen = await settle(browser, await browser.get(path))
      expect(seen.text).toContain('Confirm it’s you')
    }
    const { rows } = await server.context.db.query<{ count: string }>(
      `select count(*) from flow_state where user_id = $1`,
      [user.user.id],
    )
    expect(rows[0]?.count).toBe('0')
    // Continues to the application with the CSRF token of the factor page's "use another account" form.
    const fields = {
      csrf: /name="csrf" value="([^"]*)"/.exec(page.text.split('sign-out')[1] ?? '')?.[1] ?? '',
    }
    const forced = await browser.post('/ui/continue', { ...fields, redirect_to: APPLICATION })
    expect(forced.location).toContain('/ui/factor')
  })

  it('come after an emailed link too', async () => {
    const user = await aUserWithTotp(server)
    const before = (await mailTo(server, user.email)).mail
    const browser = aBrowser(server)
    await browser.submit(await browser.get('/ui'), '/ui/mail', { identifier: user.email })
    const { link = '' } = await mailTo(server, user.email, before)
    expect((await followLink(browser, link)).text).toContain('Confirm it’s you')
  })

  it('on a phone are sent a code when the button is pressed', async () => {
    const user = await aUser(server)
    const phone = aPhone()
    const token = user.access_token
    const { body } = await post(
      server,
      '/factors',
      { factor_type: 'phone', phone, friendly_name: 'mobile' },
      { token },
    )
    const id = String(body['id'])
    const challenge = await post(server, `/factors/${id}/challenge`, {}, { token })
    const answer = { challenge_id: challenge.body['id'], code: gateway.codeFor(phone) }
    expect((await post(server, `/factors/${id}/verify`, answer, { token })).status).toBe(200)
    server.clock.advance(120_000)

    const browser = aBrowser(server)
    const page = await settle(browser, await signIn(browser, user))
    const before = gateway.messages.length
    const sent = await settle(browser, await browser.submit(page, '/ui/factor/send'))
    await waitFor(() => gateway.messages.length > before)
    const done = await settle(
      browser,
      await browser.submit(sent, '/ui/factor', { code: gateway.codeFor(phone) }),
    )
    expect(done.text).toContain('You are signed in')
  })
})
