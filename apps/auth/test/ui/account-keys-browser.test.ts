import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { leasePort } from '@signet/local'
import { aUser } from '../support/api.js'
import { anAuthenticator, PASSKEY_ENVIRONMENT, passkeySteps } from '../support/passkeys.js'
import type { TestServer } from '../support/server.js'
import { describeInBrowser, inChromium } from './chromium.js'
import { startUi } from './support.js'

describeInBrowser('pages of passkeys, security keys and phones in Chromium', () => {
  let server: TestServer
  let site: string
  beforeAll(async () => {
    // Keys do not work for an IP address.
    const port = await leasePort()
    site = `http://localhost:${port}`
    server = await startUi({
      ...PASSKEY_ENVIRONMENT,
      AUTH_API_PORT: String(port),
      AUTH_API_EXTERNAL_URL: site,
      AUTH_SITE_URL: site,
      AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
      AUTH_MFA_PHONE_VERIFY_ENABLED: 'true',
    })
  })
  afterAll(() => server.close())
  const { page, open, heading, press, signIn, reopen, check } = inChromium(() => ({ ...server, url: site }))
  const { register } = passkeySteps(() => server)

  describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
    it.each([
      ['a phone', { width: 360, height: 740 }],
      ['a desktop', { width: 1100, height: 760 }],
    ])('on %s: accessible, nothing cut off, nothing external', async (name, viewport) => {
      await reopen({ colorScheme, viewport })
      const look = (what: string) => check(`${what}-${colorScheme}-${name}`)
      const user = await aUser(server)
      await register(user, anAuthenticator({ origin: site }))
      await open()
      await look('passkey-sign-in')
      await open({}, '/account')
      await signIn(user.email)
      await page().locator('summary', { hasText: 'Rename' }).click()
      await look('passkey-list')
      await open({}, '/account/passkey')
      await look('passkey-new')
      await open({}, '/account/phone-factor')
      await look('phone-factor')
      await open({}, '/account/security-key')
      await look('security-key')
      await page()
        .getByLabel('Name of the key')
        .fill('a name of a security key that goes on and on without an end')
      await press('Continue')
      expect(await heading()).toBe('Add a security key')
      await page().getByRole('button', { name: 'Add the key' }).waitFor()
      await look('security-key-create')
      server.clock.advance(1_200_000)
      await open({ next: 'account' }, '/password')
      await look('password-proof')
    })
  })
})
