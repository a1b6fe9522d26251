import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { FormBrowser, Seen } from '@signet/testkit'
import { TOTP } from 'otpauth'
import { aPhone, anEmail, aUser, put, type SignedUp } from '../support/api.js'
import type { TestServer } from '../support/server.js'
import { activityOn, onAccount, startAccount, statusOf } from './account-support.js'
import { submitted } from './support.js'

const CANCELLED = /\. The unconfirmed change of your email address or phone number was cancelled/

let server: TestServer
beforeAll(async () => {
  ;({ server } = await startAccount())
})
afterAll(() => server.close())

function codeFor({ text }: Seen): string {
  const secret = /class="secret"[^>]*>\s*([A-Z2-7 ]+?)\s*</.exec(text)?.[1]?.replaceAll(' ', '') ?? ''
  return new TOTP({ secret }).generate({ timestamp: server.clock.now().getTime() })
}

const AUTHENTICATOR = '/ui/account/authenticator'
type Way = [string, RegExp, (browser: FormBrowser) => Promise<Seen>]
const ways: Way[] = [
  [
    'a new password',
    /^Your password was changed/,
    async (browser) =>
      submitted(browser, await browser.get('/ui/password?next=account'), '/ui/password', {
        password: 'another horse battery',
      }),
  ],
  [
    'the first second factor',
    /was added/,
    async (browser) => {
      const begun = await submitted(browser, await browser.get(AUTHENTICATOR), AUTHENTICATOR, {
        name: 'mine',
      })
      return submitted(browser, begun, AUTHENTICATOR, { code: codeFor(begun) })
    },
  ],
]

describe('a change of address that is cancelled on the account page', () => {
  const changes: [string, () => Record<string, string>, string][] = [
    ['email address', () => ({ email: anEmail() }), 'Change of the email address cancelled'],
    ['phone number', () => ({ phone: aPhone() }), 'Change of the phone number cancelled'],
  ]

  it.each(ways.flatMap((way) => changes.map((change) => [...way, ...change] as const)))(
    'by %s is said and recorded: %#',
    async (_name, done, act, _what, change, entry) => {
      const user: SignedUp = await aUser(server)
      const { browser } = await onAccount(server, user)
      await put(server, '/user', change(), { token: user.access_token })
      const page = await act(browser)
      expect(statusOf(page)).toMatch(done)
      expect(statusOf(page)).toMatch(CANCELLED)
      expect(activityOn(page)).toContain(entry)
    },
  )

  it.each(ways)('is not mentioned after %s if there was none', async (_name, done, act) => {
    const { browser } = await onAccount(server, await aUser(server))
    const page = await act(browser)
    expect(statusOf(page)).toMatch(done)
    expect(statusOf(page)).not.toMatch(CANCELLED)
  })
})
