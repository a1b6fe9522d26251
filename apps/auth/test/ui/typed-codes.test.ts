import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { FormBrowser, Seen } from '@signet/testkit'
import { anEmail, aPhone, aUser, get, mailTo, PASSWORD, post, put } from '../support/api.js'
import type { TestServer } from '../support/server.js'
import type { SmsGateway } from '../support/sms-gateway.js'
import { onAccount, startAccount, statusOf } from './account-support.js'
import { aBrowser, noticeOf, settle, submitted } from './support.js'

const STRANGERS_PASSWORD = 'the password of a stranger'
const NETWORK = { 'X-Client': 'home' }
const ELSEWHERE = { headers: { 'X-Client': 'elsewhere' } }

let server: TestServer
let gateway: SmsGateway
beforeAll(async () => {
  ;({ gateway, server } = await startAccount({
    AUTH_RATE_LIMIT_HEADER: 'X-Client',
    AUTH_RATE_LIMIT_OTP: '100000',
    AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '0',
  }))
})
afterAll(() => server.close())

type Address = { email: string; phone?: undefined } | { phone: string; email?: undefined }
const anAddressOf = (kind: 'email' | 'phone'): Address =>
  kind === 'email' ? { email: anEmail() } : { phone: aPhone() }
const codeTo = async ({ email, phone }: Address): Promise<string> => {
  if (email === undefined) return gateway.codeFor(phone)
  const last = server.inbox.messages({ to: email }).at(-2)
  return (await mailTo(server, email, last)).code ?? ''
}
const identifierOf = ({ email, phone }: Address) => email ?? `+${phone}`
const type = async (browser: FormBrowser, page: Seen, code: string): Promise<Seen> =>
  settle(browser, await browser.submit(page, '/ui/code', { code }))
const canSignIn = async (address: Address, password: string) =>
  (await post(server, '/token?grant_type=password', { ...address, password })).status === 200

describe.each(['email', 'phone'] as const)('on the page that waits for a code to %s', (kind) => {
  const anAddress = () => anAddressOf(kind)
  const signUp = async (browser: FormBrowser, address: Address, password = PASSWORD) =>
    submitted(browser, await browser.get('/ui/sign-up'), '/ui/sign-up', {
      identifier: identifierOf(address),
      password,
    })
  const strangersCode = async (address: Address) => {
    await post(server, '/signup', { ...address, password: STRANGERS_PASSWORD }, ELSEWHERE)
    return codeTo(address)
  }

  it('that of a stranger’s sign-up makes its owner choose a password', async () => {
    const address = anAddress()
    const browser = aBrowser(server, NETWORK)
    const waiting = await signUp(browser, address)
    const page = await type(browser, waiting, await strangersCode(address))
    expect(page.text).toContain('Choose a new password')
    expect(await canSignIn(address, STRANGERS_PASSWORD)).toBe(false)
    await submitted(browser, page, '/ui/password', { password: 'the password of the owner' })
    expect(await canSignIn(address, 'the password of the owner')).toBe(true)
  })

  it('that of a stranger in the same network makes its owner choose a password, too', async () => {
    const address = anAddress()
    const browser = aBrowser(server, NETWORK)
    const waiting = await signUp(browser, address)
    await post(server, '/signup', { ...address, password: STRANGERS_PASSWORD }, { headers: NETWORK })
    const page = await type(browser, waiting, await codeTo(address))
    expect(page.text).toContain('Choose a new password')
    expect(await canSignIn(address, STRANGERS_PASSWORD)).toBe(false)
  })

  it('the own one sets the password, also after the network has changed', async () => {
    const address = anAddress()
    const headers = { ...NETWORK }
    const browser = aBrowser(server, headers)
    const waiting = await signUp(browser, address)
    const own = await codeTo(address)
    await strangersCode(address)
    headers['X-Client'] = 'on the way'
    const page = await type(browser, waiting, own)
    expect(page.text).not.toContain('Choose a new password')
    expect(await canSignIn(address, PASSWORD)).toBe(true)
    expect(await canSignIn(address, STRANGERS_PASSWORD)).toBe(false)
  })

  it('that of a repeated message sets the password if nobody else has signed up', async () => {
    server.clock.advance(61_000)
    const address = anAddress()
    const browser = aBrowser(server, NETWORK)
    const waiting = await signUp(browser, address)
    const again = await submitted(browser, waiting, '/ui/code/resend')
    await type(browser, again, await codeTo(address))
    expect(await canSignIn(address, PASSWORD)).toBe(true)
  })

  it('that of a stranger’s sign-up only signs in who asked for a code or a link', async () => {
    const address = anAddress()
    const browser = aBrowser(server, NETWORK)
    const [page, action, field] =
      kind === 'email'
        ? (['/ui', '/ui/mail', 'identifier'] as const)
        : (['/ui/phone', '/ui/phone', 'phone'] as const)
    const waiting = await submitted(browser, await browser.get(page), action, {
      [field]: identifierOf(address),
    })
    await type(browser, waiting, await strangersCode(address))
    expect(await canSignIn(address, STRANGERS_PASSWORD)).toBe(false)
    expect((await settle(browser, await browser.get('/ui/account'))).text).toContain(address.email ?? 'Phone')
  })
})

describe.each(['email', 'phone'] as const)('on the account page, the code of a change of %s', (kind) => {
  const path = `/ui/account/${kind}`

  it('of another account does nothing, and says so', async () => {
    const [owner, attacker] = [await aUser(server), await aUser(server)]
    const address = anAddressOf(kind)
    const { browser } = await onAccount(server, owner, aBrowser(server, NETWORK))
    const waiting = await submitted(browser, await browser.get(path), path, { [kind]: identifierOf(address) })
    const before = server.inbox.messages({ to: attacker.email }).at(-1)
    await put(server, '/user', address, { token: attacker.access_token, ...ELSEWHERE })
    const code = await codeTo(address)
    if (kind === 'email') {
      const { token } = await mailTo(server, attacker.email, before)
      await post(server, '/verify', { type: 'email_change', token_hash: token }, ELSEWHERE)
    }
    const refused = await submitted(browser, waiting, `${path}/confirm`, { half: 'code', code })
    expect(noticeOf(refused)).toContain('get a new one')
    const { body } = await get(server, '/user', { token: attacker.access_token })
    expect(body[kind]).not.toBe(address[kind])
  })

  it('of the account works wherever the page is', async () => {
    const owner = await aUser(server)
    const address = anAddressOf(kind)
    const headers = { ...NETWORK }
    const { browser } = await onAccount(server, owner, aBrowser(server, headers))
    const waiting = await submitted(browser, await browser.get(path), path, { [kind]: identifierOf(address) })
    headers['X-Client'] = 'on the way'
    const done = await submitted(browser, waiting, `${path}/confirm`, {
      half: 'code',
      code: await codeTo(address),
    })
    expect(statusOf(done)).toMatch(kind === 'email' ? /other address/ : /was changed/)
  })
})

describe('after a sign-up that came too soon after another in the same browser', () => {
  let slow: TestServer
  beforeAll(async () => {
    ;({ server: slow } = await startAccount({ AUTH_SMTP_MAX_FREQUENCY: '900' }))
  })
  afterAll(() => slow.close())

  it.each([
    ['the same password sets it', PASSWORD, false],
    ['another password sets neither of them', 'the password typed last', true],
  ])('the code of the first one with %s', async (_what, second, asksForOne) => {
    const email = anEmail()
    const browser = aBrowser(slow)
    const signUp = async (password: string) =>
      submitted(browser, await browser.get('/ui/sign-up'), '/ui/sign-up', { identifier: email, password })
    await signUp(PASSWORD)
    const waiting = await signUp(second)
    expect(slow.inbox.messages({ to: email })).toHaveLength(1)
    const page = await type(browser, waiting, (await mailTo(slow, email)).code ?? '')
    expect(page.text.includes('Choose a new password')).toBe(asksForOne)
    const { status } = await post(slow, '/token?grant_type=password', { email, password: PASSWORD })
    expect(status === 200).toBe(!asksForOne)
  })
})
