import { expect } from '@jest/globals'
import type { FormBrowser, Seen } from '@signet/testkit'
import { PASSWORD, type SignedUp } from '../support/api.js'
import { NO_EMAIL_GAPS, type TestServer } from '../support/server.js'
import { providerEnv } from '../support/fake-provider.js'
import { startSmsServer } from '../support/sms-gateway.js'
import { aBrowser, onLocalhost, settle, startUi, submitted } from './support.js'

const NOTICES = [
  'PASSWORD_CHANGED',
  'EMAIL_CHANGED',
  'PHONE_CHANGED',
  'MFA_FACTOR_ENROLLED',
  'MFA_FACTOR_UNENROLLED',
  'MFA_RECOVERY_CODES_CREATED',
]

/** The service with everything that the account page offers, except passkeys. */
export const startAccount = (env: Record<string, string> = {}) =>
  startSmsServer(
    {
      ...NO_EMAIL_GAPS,
      AUTH_SMS_MAX_FREQUENCY: '0',
      AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
      AUTH_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: '0',
      AUTH_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: '100000',
      ...Object.fromEntries(NOTICES.map((kind) => [`AUTH_MAILER_NOTIFICATIONS_${kind}_ENABLED`, 'true'])),
      ...env,
    },
    startUi,
  )

/** The service at `localhost`, with every sign-in method that an account can have, and an application that people sign in to. */
export async function startWithEveryWay(): Promise<{ server: TestServer; site: string }> {
  const { site, env } = await onLocalhost()
  const { server } = await startAccount({
    ...env,
    ...providerEnv('gitlab', 'https://gitlab.example.com'),
    AUTH_URI_ALLOW_LIST: 'https://other.example.com/**',
    AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
    AUTH_MFA_PHONE_VERIFY_ENABLED: 'true',
    AUTH_MFA_PHONE_MAX_FREQUENCY: '0',
  })
  return { server, site }
}

/** Signs a person in and opens their account page. */
export async function onAccount(
  server: TestServer,
  user: Pick<SignedUp, 'email'>,
  browser: FormBrowser = aBrowser(server),
): Promise<{ browser: FormBrowser; page: Seen }> {
  const first = await settle(browser, await browser.get('/ui/account'))
  const page = await submitted(browser, first, '/ui/sign-in', { identifier: user.email, password: PASSWORD })
  expect(page.status).toBe(200)
  return { browser, page }
}

export const statusOf = (page: Seen): string | undefined =>
  /role="status"[^>]*>\s*([^<]*?)\s*</.exec(page.text)?.[1]

/** Recent activity, newest first. */
export const activityOn = ({ text }: Seen): string[] => {
  const [, section = ''] = text.split('Recent activity')
  return [...(section.split('</section>')[0]?.matchAll(/<strong>([^<]*)<\/strong>/g) ?? [])].map(
    ([, one = '']) => one,
  )
}
