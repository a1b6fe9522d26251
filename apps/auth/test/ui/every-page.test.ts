import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { type Chromium, launchChromium } from '@signet/testkit/chromium'
import { describeInBrowser } from '@signet/testkit/browser'
import { addressesOf, faultsOfPages, LANGUAGES, needsOfScript } from '@signet/testkit/page-walk'
import type { FormBrowser } from '@signet/testkit'
import type { Page } from 'playwright-core'
import { uiPageRoutes } from '../../src/ui/ui-router.js'
import { aPhone, aUser, mailTo, type SignedUp } from '../support/api.js'
import { anOperator } from '../support/operator.js'
import { anAuthenticator, passkeySteps } from '../support/passkeys.js'
import type { TestServer } from '../support/server.js'
import { startSmsServer } from '../support/sms-gateway.js'
import {
  aBrowser,
  aUserWithTotp,
  onLocalhost,
  outcomeQuery,
  settle,
  signIn,
  startUi,
  submitted,
} from './support.js'

/** Routes that pages load or redirect through, and that show no page. */
const NO_PAGES = [
  '/ui/form.js',
  '/ui/passkey.js',
  '/ui/icon',
  '/favicon.ico',
  '/ui/code/status',
  '/ui/account/export',
  '/ui/return',
]
const LONG = 'a name that goes on and on without an end, as names of devices do'
/** PICTURES=<folder> saves a picture of each page. */
const pictures = process.env['PICTURES']

/** Someone in front of a browser, and the addresses that they open. */
type Visitor = { who: string; browser: FormBrowser; addresses: readonly string[] }

/** Walks the table of routes, so that it also covers pages that are added later. */
describeInBrowser('every page', () => {
  let server: TestServer
  let site: string
  let chromium: Chromium
  let visitors: readonly Visitor[]
  beforeAll(async () => {
    const local = await onLocalhost()
    site = local.site
    const started = await startSmsServer(
      {
        ...local.env,
        AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
        AUTH_MFA_PHONE_VERIFY_ENABLED: 'true',
        AUTH_UI_OPERATOR_ENABLED: 'true',
      },
      startUi,
    )
    server = { ...started.server, url: site }
    chromium = await launchChromium()
    const [owner, later] = await anOwner()
    visitors = [owner, later, await aStranger(), await onTheWay(), await inCharge(owner.user)]
  })
  afterAll(async () => {
    await chromium.close()
    await server.close()
  })

  const { register } = passkeySteps(() => server)
  const pathOf = ({ url }: { url: string }) => url.replace(site, '')

  async function aStranger(): Promise<Visitor> {
    const { email } = await aUser(server)
    const browser = aBrowser(server)
    const before = (await mailTo(server, email)).mail
    const waiting = await submitted(browser, await browser.get('/ui/forgot'), '/ui/forgot', { email })
    const link = (await mailTo(server, email, before)).link ?? ''
    const said = (page: string) => `/ui${page}${outcomeQuery(server, browser, page)}`
    const long = `https://other.example.com/${'long'.repeat(20)}`
    return {
      who: 'a stranger',
      browser,
      addresses: [
        '/',
        '/ui',
        `/ui?redirect_to=${encodeURIComponent(long)}`,
        '/ui/sign-up',
        '/ui/forgot',
        '/ui/phone',
        pathOf(waiting),
        pathOf(await settle(browser, await browser.get(link))),
        '/ui/link?type=magiclink&token=used',
        said('/link/confirmed'),
        said('/link/half-confirmed'),
        said('/link/changed'),
        `/ui/account/deleted${outcomeQuery(server, browser, 'deleted')}`,
      ],
    }
  }

  /**
   * An owner in two browsers. They have just signed in with the first; their sign-in in the second is old, so changes need a new proof
   * there.
   */
  async function anOwner(): Promise<[Visitor & { user: SignedUp }, Visitor]> {
    const user = await aUser(server)
    await register(user, anAuthenticator({ origin: site }))
    const [browser, other] = [aBrowser(server), aBrowser(server)]
    // The buttons of two sign-ins in the same minute would have the same name.
    server.clock.advance(60_000)
    await settle(other, await signIn(other, user))
    server.clock.advance(1_200_000)
    await register(user, anAuthenticator({ origin: site }))
    await settle(browser, await signIn(browser, user))
    const askedAgain = pathOf(await settle(other, await other.get('/ui/account/passkey')))
    const named = async (page: string, fields: Record<string, string> = {}) =>
      pathOf(await submitted(browser, await browser.get(page), page, { name: LONG, ...fields }))
    const account = '/ui/account'
    const owner = {
      who: 'an owner',
      user,
      browser,
      addresses: [
        account,
        `${account}${outcomeQuery(server, browser, 'passkey')}`,
        `${account}/email`,
        `${account}/phone`,
        `${account}/passkey`,
        `${account}/authenticator`,
        await named(`${account}/authenticator`),
        `${account}/security-key`,
        await named(`${account}/security-key`, { name: 'another' }),
        `${account}/phone-factor`,
        await named(`${account}/phone-factor`, { name: 'a phone', phone: `+${aPhone()}` }),
        `${account}/recovery-codes`,
        `${account}/delete`,
        '/ui/password?next=account',
        '/ui/sign-out',
        '/ui/nothing',
      ],
    }
    const addresses = [account, '/ui/password?next=account', askedAgain]
    return [owner, { who: 'an owner after a while', browser: other, addresses }]
  }

  /** Someone who has not shown their second factor yet. */
  async function onTheWay(): Promise<Visitor> {
    const browser = aBrowser(server)
    await settle(browser, await signIn(browser, await aUserWithTotp(server)))
    return { who: 'somebody on the way', browser, addresses: ['/ui/factor', '/ui/factor/recovery'] }
  }

  async function inCharge({ user }: SignedUp): Promise<Visitor> {
    const { browser } = await anOperator(server)
    const [person = ''] = addressesOf(['/ui/operator/users/:user_id'], { 'users/:user_id': user.id })
    return {
      who: 'an operator',
      browser,
      addresses: [
        '/ui/account',
        '/ui/account/recovery-codes',
        '/ui/operator',
        '/ui/operator?q=user',
        '/ui/operator?q=nobody',
        '/ui/operator/audit?scope=action&text=user',
        person,
        `${person}${outcomeQuery(server, browser, 'banned')}`,
      ],
    }
  }

  const cookiesOf = ({ cookies }: FormBrowser) =>
    [...cookies].map(([name, value]) => ({ name, value, url: site }))
  type OnPage = (who: string, page: Page, path: string) => Promise<unknown>
  /** Walks through the pages of all visitors, one visitor after another. */
  function walk(onPage: OnPage) {
    const [first, ...next] = visitors.map(({ who, browser, addresses }) => ({
      paths: addresses,
      prepare: (page: Page) => page.context().addCookies(cookiesOf(browser)),
      onPage: (page: Page, path: string) => onPage(who, page, path),
    }))
    return { base: site, paths: [], ...first, next }
  }

  it('is visited by somebody', () => {
    const routes = uiPageRoutes(server.context).filter(
      ({ method, path }) => method === 'get' && !NO_PAGES.includes(path),
    )
    const visited = visitors.flatMap(({ addresses }) =>
      addresses.map((address) => address.split('?')[0] ?? ''),
    )
    const patternOf = (path: string) => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`)
    const missed = routes.filter(({ path }) => !visited.some((one) => patternOf(path).test(one)))
    expect(missed.map(({ path }) => path)).toEqual([])
    expect(routes.length).toBeGreaterThan(20)
  })

  it('works without a script, at its own address', async () => {
    // A visitor who is redirected elsewhere has not seen the page.
    const onPage: OnPage = (who, page, path) => {
      expect([who, page.url()]).toEqual([who, `${site}${path}`])
      return Promise.resolve()
    }
    expect(await needsOfScript(chromium, walk(onPage))).toEqual([])
  })

  it.each(LANGUAGES)(
    'in %s is accessible, whole, and loads nothing from elsewhere',
    async (name, language) => {
      const onPage: OnPage = (_who, page) =>
        page.evaluate('document.querySelectorAll("details").forEach((one) => { one.open = true })')
      const onLook = async (page: Page, path: string, look: string) => {
        if (pictures === undefined) return
        const file = `auth${path.slice(0, 60)}-${name}-${look}`.replace(/\W+/g, '-')
        await page.screenshot({ path: `${pictures}/${file}.png`, fullPage: true })
      }
      expect(await faultsOfPages(chromium, { ...walk(onPage), language, onLook })).toEqual([])
    },
  )
})
