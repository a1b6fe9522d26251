import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { FormBrowser, type Seen } from '@signet/testkit'
import { TOTP } from 'otpauth'
import { aPhone, anEmail, aUser, PASSWORD, post, put, type SignedUp } from '../support/api.js'
import { anAuthenticator, passkeySteps } from '../support/passkeys.js'
import type { TestServer } from '../support/server.js'
import { claimsOf } from '../support/tokens.js'
import { activityOn, onAccount, startWithEveryWay, statusOf } from './account-support.js'
import { submitted } from './support.js'

const CANCELLED = /\. The unconfirmed change of your email address or phone number was cancelled/

let server: TestServer
let site: string
beforeAll(async () => {
  ;({ server, site } = await startWithEveryWay())
})
afterAll(() => server.close())
const passkeys = passkeySteps(() => server)

function codeFor({ text }: Seen): string {
  const secret = /class="secret"[^>]*>\s*([A-Z2-7 ]+?)\s*</.exec(text)?.[1]?.replaceAll(' ', '') ?? ''
  return new TOTP({ secret }).generate({ timestamp: server.clock.now().getTime() })
}

const AUTHENTICATOR = '/ui/account/authenticator'
type Way = [string, RegExp, (browser: FormBrowser, user: SignedUp) => Promise<Seen>]
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
  [
    'removing a passkey that someone signed in with',
    /was removed/,
    async (browser, user) => {
      const authenticator = anAuthenticator({ origin: site })
      const { id: passkey } = await passkeys.register(user, authenticator)
      await passkeys.signIn(authenticator)
      return submitted(browser, await browser.get('/ui/account'), '/ui/account/passkey/remove', { passkey })
    },
  ],
  [
    'disconnecting a provider that someone signed in with',
    /^Disconnected/,
    async (browser, user) => {
      const identity = await signedInWithGitLab(user)
      return submitted(browser, await browser.get('/ui/account'), '/ui/account/unlink', { identity })
    },
  ],
]

/** Connects an account at GitLab, and opens a session as a sign-in there does. Returns the id of the identity. */
async function signedInWithGitLab({ user, email }: SignedUp): Promise<string> {
  const { db } = server.context
  const id = randomUUID()
  await db.query(
    `insert into identities (id, user_id, provider, provider_id, identity_data, created_at, updated_at)
     values ($1::uuid, $2, 'gitlab', $1::text, '{}', $3, $3)`,
    [id, user.id, server.clock.now()],
  )
  const { body } = await post(server, '/token?grant_type=password', { email, password: PASSWORD })
  await db.query(
    `update sessions set amr = jsonb_build_array(amr -> 0 || '{"method": "oauth", "provider": "gitlab"}') where id = $1`,
    [claimsOf(String(body['access_token']))['session_id']],
  )
  return id
}

describe('a change of address that is cancelled on the account page', () => {
  const changes: [string, () => Record<string, string>, string][] = [
    ['email address', () => ({ email: anEmail() }), 'Change of the email address cancelled'],
    ['phone number', () => ({ phone: aPhone() }), 'Change of the phone number cancelled'],
  ]

  it.each(ways.flatMap((way) => changes.map((change) => [...way, ...change] as const)))(
    'by %s is said and recorded: %#',
    async (_name, done, act, _what, change, entry) => {
      const user: SignedUp = await aUser(server)
      const { browser } = await onAccount(server, user, new FormBrowser(site))
      await put(server, '/user', change(), { token: user.access_token })
      const page = await act(browser, user)
      expect(statusOf(page)).toMatch(done)
      expect(statusOf(page)).toMatch(CANCELLED)
      expect(activityOn(page)).toContain(entry)
    },
  )

  it.each(ways)('is not mentioned after %s if there was none', async (_name, done, act) => {
    const user = await aUser(server)
    const { browser } = await onAccount(server, user, new FormBrowser(site))
    const page = await act(browser, user)
    expect(statusOf(page)).toMatch(done)
    expect(statusOf(page)).not.toMatch(CANCELLED)
  })
})
