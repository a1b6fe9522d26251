import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { TOTP } from 'otpauth'
import { FormBrowser, formOf, SoftwareAuthenticator, type Seen } from '@signet/testkit'
import { anEmail, aPhone, aUser, get, PASSWORD, post, type Json, type SignedUp } from '../support/api.js'
import { anAuthenticator, passkeySteps } from '../support/passkeys.js'
import type { TestServer } from '../support/server.js'
import { onAccount, startWithEveryWay, statusOf } from './account-support.js'
import {
  APPLICATION,
  aUserWithTotp,
  fragmentOf,
  noticeOf,
  optionsOn,
  settle,
  submitted,
  uiPath,
} from './support.js'

const AGAIN = 'Please confirm that it’s you: sign in again.'
const CODES = '/ui/account/recovery-codes'

let server: TestServer
let site: string
beforeAll(async () => {
  ;({ server, site } = await startWithEveryWay())
})
afterAll(() => server.close())

const { register } = passkeySteps(() => server)

const inside = async (user: Pick<SignedUp, 'email'>) => onAccount(server, user, new FormBrowser(site))
const tenMinutes = (less = 0) => server.clock.advance(600_000 - less)

/** The status, path and parameters with which a person is sent to the sign-in page. */
const askedAgain = ({ status, location }: Seen) => {
  const { pathname, searchParams } = new URL(location ?? '', site)
  return { status, pathname, ...Object.fromEntries(searchParams) }
}
const again = ({ email }: { email: string }) => ({
  status: 303,
  pathname: '/ui',
  prompt: 'login',
  login_hint: email,
  next: 'account',
})
const signInAgain = async (browser: FormBrowser, asked: Seen, { email }: { email: string }) => {
  const page = await settle(browser, asked)
  expect(page.text).toContain(AGAIN)
  return submitted(browser, page, '/ui/sign-in', { identifier: email, password: PASSWORD })
}

const secretOn = ({ text }: Seen) =>
  /class="secret"[^>]*>\s*([A-Z2-7 ]+?)\s*</.exec(text)?.[1]?.replaceAll(' ', '') ?? 'AAAAAAAA'

/** Everything that opens the account or soon will, such as a new address that is not confirmed yet. */
async function waysInto({ access_token: token }: SignedUp): Promise<unknown> {
  const { factors, identities, email, phone, new_email, new_phone } = (await get(server, '/user', { token }))
    .body
  const passkeys = JSON.parse((await get(server, '/passkeys', { token })).text) as Json[]
  return { factors, identities, email, phone, new_email, new_phone, passkeys }
}

type Way = {
  name: string
  page: string
  action?: string
  fields: (page: Seen) => Record<string, string>
  /** Checks what follows when the form is accepted. */
  done: (browser: FormBrowser, answer: Seen) => Promise<void>
}

const leadsTo =
  (text: string | RegExp): Way['done'] =>
  async (browser, answer) => {
    const page = await settle(browser, answer)
    expect(noticeOf(page)).toBeUndefined()
    expect(page.text).toMatch(text)
  }

const ways: Way[] = [
  {
    name: 'an authenticator app',
    page: '/ui/account/authenticator',
    fields: () => ({ name: 'a thief' }),
    done: leadsTo('class="secret"'),
  },
  {
    name: 'a security key',
    page: '/ui/account/security-key',
    fields: () => ({ name: 'a thief' }),
    done: leadsTo('data-webauthn="create"'),
  },
  {
    name: 'a phone as second factor',
    page: '/ui/account/phone-factor',
    fields: () => ({ name: 'a thief', phone: `+${aPhone()}` }),
    done: leadsTo('name="code"'),
  },
  {
    name: 'a passkey',
    page: '/ui/account/passkey',
    fields: (page) => ({
      credential: JSON.stringify(new SoftwareAuthenticator({ origin: site }).create(optionsOn(page))),
    }),
    done: leadsTo('Passkey created'),
  },
  {
    name: 'another email address',
    page: '/ui/account/email',
    fields: () => ({ email: anEmail() }),
    done: leadsTo('name="code"'),
  },
  {
    name: 'another phone number',
    page: '/ui/account/phone',
    fields: () => ({ phone: `+${aPhone()}` }),
    done: leadsTo('name="code"'),
  },
  {
    name: 'a provider',
    page: '/ui/account',
    action: '/ui/account/link',
    fields: () => ({ provider: 'gitlab' }),
    done: (_, answer) => {
      expect(answer.location).toContain('https://gitlab.example.com/')
      return Promise.resolve()
    },
  },
]

describe('ten minutes after the last proof, whoever finds the browser open', () => {
  it.each(ways)('does not add $name, and the owner does after signing in again', async (way) => {
    const { page: path, action = path, fields, done } = way
    const user = await aUser(server)
    const { browser } = await inside(user)
    tenMinutes(60_000)
    const page = await browser.get(path)
    expect(page.status).toBe(200)
    const before = await waysInto(user)
    server.clock.advance(60_000)
    if (path !== '/ui/account') expect(askedAgain(await browser.get(path))).toEqual(again(user))
    const refused = await browser.submit(page, action, fields(page))
    expect(askedAgain(refused)).toEqual(again(user))
    expect(await waysInto(user)).toEqual(before)

    const home = await signInAgain(browser, refused, user)
    expect(new URL(home.url).pathname).toBe('/ui/account')
    const open = await browser.get(path)
    await done(browser, await browser.submit(open, action, fields(open)))
  })

  it('makes no recovery codes', async () => {
    const user = await aUserWithTotp(server)
    const { browser, page: factor } = await inside(user)
    await submitted(browser, factor, '/ui/factor', { code: user.code() })
    const page = await browser.get(CODES)
    tenMinutes()
    const refused = await browser.submit(page, CODES)
    expect(askedAgain(refused)).toEqual(again(user))
    const asked = await signInAgain(browser, refused, user)
    expect(new URL(asked.url).pathname).toBe('/ui/factor')
    await submitted(browser, asked, '/ui/factor', { code: user.code() })
    const open = await browser.get(CODES)
    expect(open.text).toContain('You have none.')
    expect((await submitted(browser, open, CODES)).text).toContain('<ul class="codes">')
  })

  it('sets no password with the help of a second factor of their own', async () => {
    const user = await aUser(server)
    const { browser } = await inside(user)
    tenMinutes()
    const app = '/ui/account/authenticator'
    const { fields } = formOf(await browser.get('/ui/account'), '/ui/account/sessions/end')
    const begun = await settle(browser, await browser.post(app, { ...fields, name: 'a thief' }))
    const timestamp = server.clock.now().getTime()
    const code = new TOTP({ secret: secretOn(begun) }).generate({ timestamp })
    const setup = new URL(begun.url).searchParams.get('setup') ?? ''
    await browser.post(app, { ...fields, setup, code })
    const page = await browser.get('/ui/password?next=account')
    await browser.submit(page, '/ui/password', { password: 'the thief is in' })
    const owner = { email: user.email, password: PASSWORD }
    expect((await post(server, '/token?grant_type=password', owner)).status).toBe(200)
    expect(begun.text).toContain(AGAIN)
    expect(begun.text).toContain(`value="${user.email}"`)
  })

  it('is told so in the language of the browser', async () => {
    const { browser } = await inside(await aUser(server))
    tenMinutes()
    const german = await browser.get('/ui?prompt=login&next=account', { 'accept-language': 'de' })
    expect(german.text).toContain('Bitte bestätigen Sie, dass Sie es sind')
    for (const other of ['/ui?prompt=login', '/ui?next=account&prompt=select_account'])
      expect((await browser.get(other)).text).not.toContain(AGAIN)
  })
})

describe('what the owner has begun', () => {
  it('is finished although the ten minutes are over meanwhile', async () => {
    const user = await aUser(server)
    const { browser } = await inside(user)
    tenMinutes(60_000)
    const path = '/ui/account/security-key'
    const asked = await submitted(browser, await browser.get(path), path, { name: 'my key' })
    server.clock.advance(120_000)
    const shown = await browser.get(asked.url)
    const key = new SoftwareAuthenticator({ origin: site })
    const credential = JSON.stringify(key.create(optionsOn(shown)))
    expect(statusOf(await submitted(browser, shown, path, { credential }))).toContain('was added')
  })

  it('as a change of address can be confirmed, sent again and given up, but not redirected', async () => {
    const user = await aUser(server)
    const { browser } = await inside(user)
    const path = '/ui/account/email'
    const email = anEmail()
    await submitted(browser, await browser.get(path), path, { email })
    tenMinutes()
    const waiting = await browser.get(path)
    expect(waiting.text).toContain(email)
    const other = await browser.submit(waiting, path, { email: anEmail() })
    expect(askedAgain(other)).toEqual(again(user))
    expect((await submitted(browser, waiting, path)).text).toContain(email)
    expect(statusOf(await submitted(browser, waiting, `${path}/cancel`))).toBeDefined()
  })
})

describe('a second factor that was added a moment ago', () => {
  it('does not prove who sits there: a new password asks for the current one', async () => {
    const user = await aUser(server)
    const { browser } = await inside(user)
    tenMinutes(20_000)
    const app = '/ui/account/authenticator'
    const begun = await submitted(browser, await browser.get(app), app, { name: 'a thief' })
    server.clock.advance(120_000)
    const timestamp = server.clock.now().getTime()
    const code = new TOTP({ secret: secretOn(begun) }).generate({ timestamp })
    expect(statusOf(await submitted(browser, await browser.get(begun.url), app, { code }))).toContain('added')
    const page = await browser.get('/ui/password?next=account')
    expect(page.text).toContain('Current password')
    expect(noticeOf(await submitted(browser, page, '/ui/password', { password: 'the thief is in' }))).toBe(
      'Enter your current password as well.',
    )
    expect(askedAgain(await browser.get('/ui/account/passkey'))).toEqual(again(user))
  })

  it('is none when it is shown a second time in that session, and is one after the next sign-in', async () => {
    const user = await aUser(server)
    const { browser } = await inside(user)
    const token = fragmentOf(
      await browser.submit(await browser.get(uiPath({ redirect_to: APPLICATION })), '/ui/continue'),
    )['access_token']
    const begun = await post(server, '/factors', { factor_type: 'totp', friendly_name: 'x' }, { token })
    const { id, totp } = begun.body as { id: string; totp: { secret: string } }
    const show = async (bearer: string | undefined) => {
      server.clock.advance(30_000)
      const challenge = await post(server, `/factors/${id}/challenge`, {}, { token: bearer })
      const timestamp = server.clock.now().getTime()
      const answer = {
        challenge_id: challenge.body['id'],
        code: new TOTP({ secret: totp.secret }).generate({ timestamp }),
      }
      const shown = await post(server, `/factors/${id}/verify`, answer, { token: bearer })
      expect(shown.status).toBe(200)
      return shown.body['access_token'] as string
    }
    const passkey = async (bearer: string) =>
      (await post(server, '/passkeys/registration/options', {}, { token: bearer })).status
    const raised = await show(token)
    tenMinutes()
    expect(await passkey(await show(raised))).toBe(403)
    const anew = await browser.get(uiPath({ redirect_to: APPLICATION, prompt: 'login' }))
    const factor = await submitted(browser, anew, '/ui/sign-in', {
      identifier: user.email,
      password: PASSWORD,
    })
    server.clock.advance(30_000)
    const timestamp = server.clock.now().getTime()
    const code = new TOTP({ secret: totp.secret }).generate({ timestamp })
    const back = fragmentOf(await browser.submit(factor, '/ui/factor', { code }))['access_token'] ?? ''
    tenMinutes()
    expect(await passkey(back)).toBe(403)
    expect(await passkey(await show(back))).toBe(200)
  })
})

describe('an account without password and proven address', () => {
  const path = '/ui/account/authenticator'

  it('signs in again with its passkey; with nothing left there is nothing to show', async () => {
    const user = await aUser(server)
    const key = anAuthenticator({ origin: site })
    const passkey = await register(user, key)
    const { browser } = await inside(user)
    const { db } = server.context
    await db.query(
      `update users set encrypted_password = null, email = null, email_confirmed_at = null where id = $1`,
      [user.user.id],
    )
    tenMinutes()
    const asked = await settle(browser, await browser.get(path))
    expect(asked.text).toContain(AGAIN)
    const credential = JSON.stringify(key.get(optionsOn(asked)))
    const home = await submitted(browser, asked, '/ui/passkey', { credential })
    expect([noticeOf(home), new URL(home.url).pathname]).toEqual([undefined, '/ui/account'])
    expect((await browser.get(path)).status).toBe(200)

    tenMinutes()
    expect((await browser.get(path)).status).toBe(303)
    await db.query(`delete from webauthn_credentials where id = $1`, [passkey.id])
    expect((await browser.get(path)).status).toBe(200)
  })
})
