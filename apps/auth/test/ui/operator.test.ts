import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { formOf, type Seen } from '@signet/testkit'
import { NIL_UUID } from '../../src/users/uuid.js'
import { uiCatalogues, type UiKey } from '../../src/ui/texts.js'
import { anEmail, aPhone, aUser, call, get, mailTo, post, put, UUID, type SignedUp } from '../support/api.js'
import { anAdministrator, anOperator, changeUser, type OperatorInPerson } from '../support/operator.js'
import { NO_EMAIL_GAPS, type TestServer } from '../support/server.js'
import { serviceToken } from '../support/tokens.js'
import { aBrowser, aUserWithTotp, noticeOf, settle, signIn, startUi } from './support.js'

const HOME = '/ui/operator'
const pathOf = (id: string) => `${HOME}/users/${id}`

let server: TestServer
beforeAll(async () => {
  server = await startUi({ AUTH_UI_OPERATOR_ENABLED: 'true', ...NO_EMAIL_GAPS })
})
afterAll(() => server.close())

/** The newest entry of the audit log with this action. */
async function newestEntry(action: string) {
  const { body } = await get(server, `/admin/audit?per_page=1&query=action:${action}`, {
    token: serviceToken(),
  })
  return (body as unknown as { payload: Record<string, unknown> }[])[0]?.payload
}

describe('the operator page', () => {
  let operator: OperatorInPerson
  let user: SignedUp
  beforeAll(async () => {
    operator = await anOperator(server)
  })
  beforeEach(async () => {
    user = await aUser(server)
  })

  const open = () => operator.browser.get(pathOf(user.user.id))
  const act = async (fields: Record<string, string>): Promise<Seen> =>
    settle(operator.browser, await operator.browser.submit(await open(), pathOf(user.user.id), fields))
  const canRefresh = async () =>
    (await post(server, '/token?grant_type=refresh_token', { refresh_token: user.refresh_token })).status ===
    200
  const byOperator = (id = user.user.id) =>
    expect.objectContaining({
      actor_id: operator.user.id,
      actor_username: operator.email,
      traits: expect.objectContaining({ user_id: id }) as unknown,
    })

  it('finds people by address, part of an address, phone number and id', async () => {
    const phone = aPhone()
    await changeUser(server, user.user.id, { phone, phone_confirm: true })
    for (const query of [
      user.email,
      user.email.toUpperCase(),
      user.email.slice(0, 14),
      phone,
      `+${phone}`,
      `+${phone.slice(0, 2)} (0) ${phone.slice(2, 5)}/${phone.slice(5)}`,
      user.user.id,
    ]) {
      const { status, text } = await operator.browser.get(`${HOME}?q=${encodeURIComponent(query)}`)
      expect([query, status, text.includes(pathOf(user.user.id))]).toEqual([query, 200, true])
    }
    for (const query of ['nobody@nowhere.test', UUID, '%', '\u0001', '9'.repeat(20)])
      expect((await operator.browser.get(`${HOME}?q=${encodeURIComponent(query)}`)).text).toContain('None.')
  })

  it('shows ways to sign in, factors, sessions and the audit log of a person, and nothing secret', async () => {
    const person = await aUserWithTotp(server)
    const { text } = await operator.browser.get(pathOf(person.user.id))
    for (const shown of [person.email, 'my app', 'totp', 'aal2', 'user_signedup', 'verification_attempted'])
      expect(text).toContain(shown)
    const { rows } = await server.context.db.query<{ encrypted_password: string }>(
      'select encrypted_password from users where id = $1',
      [person.user.id],
    )
    expect(text).not.toContain(rows[0]?.encrypted_password)
    expect(text).not.toContain(person.refresh_token)
  })

  it('says that an account is about to be deleted, and how many recovery codes are left', async () => {
    const person = await aUserWithTotp(server)
    await server.context.db.query('update users set deletion_due_at = $2 where id = $1', [
      person.user.id,
      new Date(server.clock.now().getTime() + 86_400_000),
    ])
    const { text } = await operator.browser.get(pathOf(person.user.id))
    for (const shown of ['About to be deleted', 'Will be deleted', 'Recovery codes left', 'Passkeys'])
      expect(text).toContain(shown)
  })

  it('blocks for a time, which ends every session, and lifts the block', async () => {
    const banned = await act({ action: 'ban', duration: '24h' })
    expect(banned.text).toContain('The account is banned')
    expect(await canRefresh()).toBe(false)
    expect((await post(server, '/token?grant_type=password', user)).status).toBe(400)
    expect(await newestEntry('user_modified')).toEqual(byOperator())
    expect((await act({ action: 'unban' })).text).toContain('no longer banned')
    expect((await post(server, '/token?grant_type=password', user)).status).toBe(200)
  })

  it('signs a person out everywhere', async () => {
    expect(await canRefresh()).toBe(true)
    expect((await act({ action: 'sign-out' })).text).toContain('All sessions have ended')
    expect(await canRefresh()).toBe(false)
    expect(await newestEntry('session_revoked')).toEqual(byOperator())
  })

  it('says who cancelled the change of address that a session may have asked for', async () => {
    await put(server, '/user', { email: anEmail() }, { token: user.access_token })
    // The newest of two entries of the same time may be either.
    server.clock.advance(1)
    await act({ action: 'sign-out' })
    expect(await newestEntry('user_modified')).toMatchObject({
      actor_id: operator.user.id,
      traits: { user_id: user.user.id, cancelled: 'email' },
    })
  })

  it('is not named in what a person downloads about their account', async () => {
    await act({ action: 'sign-out' })
    const browser = aBrowser(server)
    await settle(browser, await signIn(browser, user))
    const { text } = await browser.get('/ui/account/export')
    const { audit_log: log } = JSON.parse(text) as { audit_log: Record<string, unknown>[] }
    expect(log.find(({ action }) => action === 'session_revoked')).toMatchObject({
      actor_id: NIL_UUID,
      actor_username: '',
      ip_address: '',
    })
    expect(log.find(({ action }) => action === 'login')).toMatchObject({
      actor_id: user.user.id,
      ip_address: expect.stringMatching(/./) as unknown,
    })
    for (const hidden of [operator.user.id, operator.email]) expect(text).not.toContain(hidden)
  })

  it('removes a second factor', async () => {
    const person = await aUserWithTotp(server)
    const path = pathOf(person.user.id)
    const fields = { action: 'factor', factor_id: person.factorId }
    const page = await operator.browser.get(path)
    expect(
      (await settle(operator.browser, await operator.browser.submit(page, path, fields))).text,
    ).toContain('The second factor was removed')
    expect(await newestEntry('factor_deleted')).toEqual(byOperator(person.user.id))
    // The same form again, from a page that is out of date, and one whose factor id is not an id.
    for (const factorId of [person.factorId, 'x'])
      expect((await operator.browser.submit(page, path, { ...fields, factor_id: factorId })).status).toBe(404)
  })

  it('has a link for a new password emailed to the person, and shows it to nobody else', async () => {
    const before = (await mailTo(server, user.email)).mail
    const sent = await act({ action: 'recovery' })
    expect(sent.text).toContain('The email is on its way')
    const { link = '' } = await mailTo(server, user.email, before)
    expect(link).toContain('type=recovery')
    expect(sent.text).not.toContain('/verify')
    expect(await newestEntry('user_recovery_requested')).toBeDefined()
    const { text } = await open()
    expect(text).toContain(operator.email)
  })

  it('has the confirmation of an address emailed again, as long as it is not confirmed', async () => {
    const refused = await operator.browser.submit(await open(), pathOf(user.user.id), {
      action: 'confirmation',
    })
    expect([refused.status, noticeOf(refused)]).toEqual([422, 'This address is confirmed.'])
    const email = `late-${user.email}`
    await post(server, '/signup', { email, password: user.password })
    const before = (await mailTo(server, email)).mail
    const found = await operator.browser.get(`${HOME}?q=${email}`)
    const path = /href="(\/ui\/operator\/users\/[^"]*)"/.exec(found.text)?.[1] ?? ''
    const page = await operator.browser.get(path)
    await settle(operator.browser, await operator.browser.submit(page, path, { action: 'confirmation' }))
    expect((await mailTo(server, email, before)).link).toContain('type=signup')
  })

  it('searches the audit log by who and what, and leads to the account', async () => {
    await act({ action: 'sign-out' })
    const found = await operator.browser.get(`${HOME}/audit?scope=action&text=session_revoked`)
    expect(found.text).toContain(pathOf(user.user.id))
    expect(found.text).not.toContain('<code>user_signedup</code>')
    const byWhom = await operator.browser.get(`${HOME}/audit?scope=author&text=${operator.email}`)
    expect(byWhom.text).toContain('<code>session_revoked</code>')
    const nobody = await operator.browser.get(`${HOME}/audit?scope=author&text=nobody%25`)
    expect(nobody.text).toContain('None.')
    for (const query of ['', '?scope=x&text=y', '?scope=toString&text=y'])
      expect((await operator.browser.get(`${HOME}/audit${query}`)).status).toBe(200)
  })

  it('refuses to ban the operator, and what no form has', async () => {
    const path = pathOf(operator.user.id)
    const page = await operator.browser.get(path)
    const ban = { action: 'ban', duration: '1h' }
    const self = await operator.browser.submit(page, path, ban)
    expect([self.status, noticeOf(self)]).toEqual([422, 'You cannot ban your own account.'])
    const german = await operator.browser.submit(page, path, ban, { 'accept-language': 'de' })
    expect(noticeOf(german)).toBe('Sie können Ihr eigenes Konto nicht sperren.')
    for (const fields of [
      { action: 'ban', duration: '5s' },
      { action: 'ban', duration: 'none' },
      { action: 'x' },
    ])
      expect((await operator.browser.submit(page, path, fields as Record<string, string>)).status).toBe(400)
  })

  it('speaks the language of the browser', async () => {
    const german = { 'accept-language': 'de' }
    const read = async (path: string) => (await operator.browser.get(path, german)).text
    const page = await operator.browser.get(pathOf(user.user.id), german)
    const seen = [
      await read(HOME),
      await read(`${HOME}?q=${user.user.id}`),
      await read(`${HOME}/audit`),
      page.text,
    ]
    const english = Object.entries(uiCatalogues.en).flatMap(([key, text]) =>
      key.startsWith('op.') && text !== uiCatalogues.de[key as UiKey] ? [text] : [],
    )
    for (const text of seen) {
      expect(text).toContain('<html lang="de">')
      expect(english.filter((words) => new RegExp(`>\\s*${words}\\s*<`).test(text))).toEqual([])
    }
    const done = await operator.browser.submit(page, pathOf(user.user.id), { action: 'sign-out' }, german)
    expect(await read(done.location ?? '')).toContain('Alle Sitzungen sind beendet.')
  })

  it('says that a person is unknown', async () => {
    const { fields } = formOf(await open(), pathOf(user.user.id))
    const texts = [
      ['en', 'This person does not exist', 'Back to the search'],
      ['de', 'Diese Person gibt es nicht', 'Zurück zur Suche'],
    ] as const
    for (const id of [UUID, 'x'])
      for (const [language, title, back] of texts) {
        const headers = { 'accept-language': language }
        const ban = { ...fields, action: 'ban', duration: '1h' }
        for (const seen of [
          await operator.browser.get(pathOf(id), headers),
          await operator.browser.post(pathOf(id), ban, headers),
        ]) {
          expect([id, seen.status]).toEqual([id, 404])
          expect(textOf(seen)).toContain(title)
          expect(seen.text).toContain(`<a href="${HOME}">${back}</a>`)
          expect(seen.text).not.toContain('UUID')
        }
      }
  })

  it('is in no cache, in no frame, and loads nothing', async () => {
    const { headers } = await open()
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/)
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('cache-control')).toBe('no-store')
  })
})

describe('an attack on the operator page', () => {
  it('without signing in is led to the sign-in page, and from there to the operator page', async () => {
    const admin = await anAdministrator(server)
    const browser = aBrowser(server)
    const page = await settle(browser, await browser.get(HOME))
    expect(page.text).toContain('Sign in')
    const factor = await settle(
      browser,
      await browser.submit(page, '/ui/sign-in', { identifier: admin.email, password: admin.password }),
    )
    const arrived = await settle(browser, await browser.submit(factor, '/ui/factor', { code: admin.code() }))
    expect(arrived.text).toContain('What you do here is recorded under your name')
  })

  it('by somebody who is not an administrator finds nothing, as anywhere else', async () => {
    const stranger = await aUserWithTotp(server)
    const browser = aBrowser(server)
    const page = await settle(browser, await signIn(browser, stranger))
    await browser.submit(page, '/ui/factor', { code: stranger.code() })
    const nowhere = await browser.get('/ui/nowhere')
    for (const path of [
      HOME,
      `${HOME}?q=${stranger.email}`,
      `${HOME}/audit`,
      pathOf(stranger.user.id),
      pathOf(UUID),
    ]) {
      const seen = await browser.get(path)
      expect([path, seen.status, textOf(seen)]).toEqual([path, 404, textOf(nowhere)])
    }
  })

  it('by an administrator without a second factor shown gets in nowhere', async () => {
    const admin = await aUser(server)
    await changeUser(server, admin.user.id, { role: 'service_role' })
    const browser = aBrowser(server)
    await settle(browser, await signIn(browser, admin))
    for (const path of [HOME, `${HOME}?q=${admin.email}`, `${HOME}/audit`, pathOf(admin.user.id)]) {
      const seen = await browser.get(path)
      expect([path, seen.status]).toEqual([path, 403])
      expect(seen.text).not.toContain(admin.email)
    }
    const enrolled = await anAdministrator(server)
    const half = aBrowser(server)
    await settle(half, await signIn(half, enrolled))
    expect((await half.get(HOME)).status).toBe(403)
  })

  it('by an administrator who asked for their own account to be deleted gets in nowhere', async () => {
    const operator = await anOperator(server)
    await server.context.db.query(
      `update users set deletion_due_at = now() + interval '1 day' where id = $1`,
      [operator.user.id],
    )
    for (const path of [HOME, pathOf(operator.user.id)])
      expect((await operator.browser.get(path)).location).toContain('/ui/account/delete')
  })

  it('by one who was demoted, banned or signed out since is refused at once', async () => {
    const victim = await aUser(server)
    for (const change of [{ role: 'authenticated' }, { ban_duration: '1h' }]) {
      const operator = await anOperator(server)
      const page = await operator.browser.get(pathOf(victim.user.id))
      await changeUser(server, operator.user.id, change)
      const tried = await operator.browser.submit(page, pathOf(victim.user.id), { action: 'sign-out' })
      expect([404, 303]).toContain(tried.status)
      expect((await settle(operator.browser, tried)).text).not.toContain(victim.email)
    }
    const refreshed = await post(server, '/token?grant_type=refresh_token', {
      refresh_token: victim.refresh_token,
    })
    expect(refreshed.status).toBe(200)
  })

  it('by a form of another site, another browser, another form or without its token does nothing', async () => {
    const [operator, other] = [await anOperator(server), await anOperator(server)]
    const victim = await aUser(server)
    const path = pathOf(victim.user.id)
    const page = await operator.browser.get(path)
    const { fields } = formOf(page, path)
    const foreign = formOf(await other.browser.get(path), path).fields
    const signOutForm = formOf(await operator.browser.get('/ui/sign-out'), '/ui/sign-out').fields
    const sent = { ...fields, action: 'sign-out' }
    const { browser } = operator
    for (const attempt of [
      () => browser.post(path, sent, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }),
      () => browser.post(path, { ...sent, csrf: foreign['csrf'] ?? '' }),
      () => browser.post(path, { ...sent, csrf: signOutForm['csrf'] ?? '' }),
      () => browser.post(path, { action: 'sign-out' }),
    ])
      expect((await attempt()).status).toBe(403)
    // A token of the API does not open the page either, in a header or in the address.
    const token = serviceToken()
    const bare = await call(server, 'GET', `${path}?access_token=${token}`, { token })
    expect(bare.status).toBe(303)
    const refreshed = await post(server, '/token?grant_type=refresh_token', {
      refresh_token: victim.refresh_token,
    })
    expect(refreshed.status).toBe(200)
  })

  it('is not there unless it is switched on', async () => {
    const closed = await startUi()
    const browser = aBrowser(closed)
    for (const path of [HOME, pathOf(UUID)]) expect((await browser.get(path)).status).toBe(404)
    await closed.close()
  })
})

/** The text of a page without the nonce, which always differs. */
const textOf = ({ text }: Seen): string => text.replace(/nonce="[^"]*"/g, '')
