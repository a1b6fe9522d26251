import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { formOf, type FormBrowser } from '@signet/testkit'
import { aUser, post } from '../support/api.js'
import type { TestServer } from '../support/server.js'
import { onAccount } from './account-support.js'
import { aBrowser, APPLICATION, fragmentOf, signIn, startUi, submitted, uiPath } from './support.js'

let server: TestServer
beforeAll(async () => {
  server = await startUi()
})
afterAll(() => server.close())

type User = Awaited<ReturnType<typeof aUser>>

/** A browser that is signed in on the pages and has signed in to two applications. */
async function aDevice(user: User) {
  const browser = aBrowser(server)
  const first = fragmentOf(await signIn(browser, user, { redirect_to: APPLICATION }))
  const shown = await browser.get(uiPath({ redirect_to: APPLICATION }))
  const second = fragmentOf(await browser.submit(shown, '/ui/continue'))
  let tokens = [first, second].map((fragment) => fragment['refresh_token'])
  return {
    browser,
    /** Whether the pages and each application are still signed in. */
    async knows() {
      const onPages = (await browser.get('/ui/account')).status === 200
      const answers = await Promise.all(
        tokens.map((token) => post(server, '/token?grant_type=refresh_token', { refresh_token: token })),
      )
      tokens = answers.map(({ body }, n) => (body['refresh_token'] as string | undefined) ?? tokens[n])
      return [onPages, ...answers.map(({ status }) => status === 200)]
    },
  }
}

const ALL = [true, true, true]
const NOTHING = [false, false, false]
const runOut = async ({ user: { id } }: User) => {
  await server.context.db.query(
    `update sessions set not_after = now() - interval '1 second' where user_id = $1 and not handed_over`,
    [id],
  )
}
const rowsOf = async (browser: FormBrowser) =>
  [...(await browser.get('/ui/account')).text.matchAll(/name="session" value="([^"]*)"/g)].map(([, id]) => id)

describe('a sign-in on the pages, and the applications that were let in with it', () => {
  it('are one thing to their owner: one line of the account page, and one button ends all of it', async () => {
    const user = await aUser(server)
    const thief = await aDevice(user)
    const own = await aDevice(user)
    await post(server, '/logout?scope=local', {}, { token: user.access_token })
    expect(await rowsOf(own.browser)).toHaveLength(1)
    expect(await thief.knows()).toEqual(ALL)
    await submitted(own.browser, await own.browser.get('/ui/account'), '/ui/account/session/end')
    expect(await thief.knows()).toEqual(NOTHING)
    expect(await own.knows()).toEqual(ALL)
  })

  it('stay when their owner signs out everywhere else', async () => {
    const user = await aUser(server)
    const [thief, own] = [await aDevice(user), await aDevice(user)]
    await submitted(own.browser, await own.browser.get('/ui/account'), '/ui/account/sessions/end')
    expect([await thief.knows(), await own.knows()]).toEqual([NOTHING, ALL])
    expect(await rowsOf(own.browser)).toEqual([])
  })

  it('end together when somebody signs out on the pages', async () => {
    const user = await aUser(server)
    const [one, other] = [await aDevice(user), await aDevice(user)]
    const page = await one.browser.get('/ui/sign-out')
    await one.browser.submit(page, '/ui/sign-out')
    expect([await one.knows(), await other.knows()]).toEqual([NOTHING, ALL])
  })

  it('go on when the same person signs in again in that browser: still one line, and signing out ends all of it', async () => {
    const user = await aUser(server)
    const [own, other] = [await aDevice(user), await aDevice(user)]
    await post(server, '/logout?scope=local', {}, { token: user.access_token })
    await signIn(own.browser, user, { prompt: 'login' })
    expect(await own.knows()).toEqual(ALL)
    expect(await rowsOf(other.browser)).toHaveLength(1)
    await own.browser.submit(await own.browser.get('/ui/sign-out'), '/ui/sign-out')
    expect([await own.knows(), await other.knows()]).toEqual([NOTHING, ALL])
  })

  it.each([
    ['after the session of the pages ran out', (user: User) => runOut(user)],
    [
      'after a guest was there',
      async (_: User, own: FormBrowser) => {
        await signIn(own, await aUser(server), { prompt: 'login' })
      },
    ],
  ])('go on when the same person signs in again %s', async (_, meanwhile) => {
    const user = await aUser(server)
    const own = await aDevice(user)
    await meanwhile(user, own.browser)
    await signIn(own.browser, user, { prompt: 'login' })
    const page = await own.browser.get('/ui/sign-out')
    await own.browser.submit(page, '/ui/sign-out')
    expect(await own.knows()).toEqual(NOTHING)
  })

  it.each([
    ['its row', (user: User) => runOut(user)],
    [
      'the cookie of the browser',
      (user: User) => {
        server.clock.advance(13 * 3_600_000)
        return runOut(user)
      },
    ],
  ])('end with a sign-out after the session of the pages ran out in %s', async (_, goBy) => {
    const user = await aUser(server)
    const [own, other] = [await aDevice(user), await aDevice(user)]
    await goBy(user)
    const page = await own.browser.get('/ui/sign-out')
    expect(page.text).toContain('applications that you opened from this browser are still signed in')
    expect(page.text).not.toContain(user.email)
    expect(await other.knows()).toEqual([false, true, true])
    await own.browser.submit(page, '/ui/sign-out')
    expect([await own.knows(), await other.knows()]).toEqual([NOTHING, [false, true, true]])
    // Nothing is left to ask about.
    const after = await own.browser.get('/ui/sign-out')
    expect(after.text).not.toContain('still signed in')
  })

  it('are one for twenty sign-ins that a browser sends at once', async () => {
    const user = await aUser(server)
    const [own, other] = [await aDevice(user), await aDevice(user)]
    await post(server, '/logout?scope=local', {}, { token: user.access_token })
    const page = await own.browser.get('/ui?prompt=login')
    const { fields } = formOf(page, '/ui/sign-in')
    const again = { ...fields, identifier: user.email, password: user.password }
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => own.browser.post('/ui/sign-in', again)),
    )
    expect(answers.filter(({ status }) => status === 303).length).toBeGreaterThan(1)
    expect(await rowsOf(other.browser)).toHaveLength(1)
    await submitted(other.browser, await other.browser.get('/ui/account'), '/ui/account/session/end')
    expect([await own.knows(), await other.knows()]).toEqual([NOTHING, ALL])
  })

  it('keep the applications when somebody else signs in there, and lose the pages', async () => {
    const [user, guest] = [await aUser(server), await aUser(server)]
    const [own, other] = [await aDevice(user), await aDevice(user)]
    await signIn(own.browser, guest, { prompt: 'login' })
    await own.browser.submit(await own.browser.get('/ui/sign-out'), '/ui/sign-out')
    expect(await own.knows()).toEqual([false, true, true])
    const { rows } = await server.context.db.query(
      `select count(*)::int as left from sessions where user_id = $1 and not handed_over and revoked_at is null`,
      [user.user.id],
    )
    // The session of the sign-up, and the other device's session of the pages.
    expect(rows).toEqual([{ left: 2 }])
    expect(await other.knows()).toEqual(ALL)
  })

  it('are still listed, and can be ended, when only an application is left', async () => {
    const user = await aUser(server)
    const [left, own] = [await aDevice(user), await aDevice(user)]
    await post(server, '/logout?scope=local', {}, { token: user.access_token })
    const account = await own.browser.get('/ui/account')
    const { session = '' } = formOf(account, '/ui/account/session/end').fields
    await server.context.db.query(
      `update sessions set not_after = now() - interval '1 second' where sign_in_id = $1 and not handed_over`,
      [session],
    )
    expect(await left.knows()).toEqual([false, true, true])
    expect(await rowsOf(own.browser)).toEqual([session])
    await submitted(own.browser, await own.browser.get('/ui/account'), '/ui/account/session/end')
    expect(await left.knows()).toEqual(NOTHING)
  })

  it('of somebody else cannot be ended by their name', async () => {
    const [user, stranger] = [await aUser(server), await aUser(server)]
    const theirs = await aDevice(stranger)
    const [id = ''] = await rowsOf((await aDevice(stranger)).browser)
    const { browser, page } = await onAccount(server, user)
    const { fields } = formOf(page, '/ui/account/session/end')
    expect((await browser.post('/ui/account/session/end', { ...fields, session: id })).status).toBe(404)
    expect(await theirs.knows()).toEqual(ALL)
  })
})
