import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals'
import { type Chromium, launchChromium } from '@signet/testkit/chromium'
import { faultsInLooks, looksOn } from '@signet/testkit/page-walk'
import type { BrowserContext, Page } from 'playwright-core'
import { PASSWORD } from '../support/api.js'
import type { TestServer } from '../support/server.js'
import { uiPath } from './support.js'

type Options = Parameters<Chromium['newContext']>[0]

const DESKTOP = { width: 1100, height: 800 }

/** Opens a window of Chromium for each test of a file, and returns what people do in it. */
export function inChromium(serverOf: () => TestServer) {
  let browser: Chromium
  let context: BrowserContext
  let page: Page
  /** Every URL that the browser requested from anywhere other than the service. */
  let foreign: string[] = []

  async function newWindow(options: Options = {}): Promise<void> {
    context = await browser.newContext({ viewport: DESKTOP, ...options })
    page = await context.newPage()
    foreign = []
    page.on('request', (request) => {
      if (!request.url().startsWith(serverOf().url)) foreign.push(request.url())
    })
  }

  beforeAll(async () => {
    browser = await launchChromium()
  })
  afterAll(() => browser.close())
  beforeEach(() => newWindow())
  afterEach(() => context.close())

  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()

  return {
    page: () => page,
    foreign: () => foreign,
    press,
    open: (query: Record<string, string> = {}, below = '') =>
      page.goto(`${serverOf().url}${uiPath(query, below)}`),
    /** Browsers focus a field with `autofocus` some time after the page has loaded; keys pressed before that go nowhere. */
    focusOn: async (id: string): Promise<void> => {
      await page.waitForSelector(`#${id}:focus`)
    },
    heading: () => page.getByRole('heading', { level: 1 }).textContent(),
    signIn: async (email: string, password = PASSWORD) => {
      await page.getByLabel('Email').fill(email)
      await page.getByLabel('Password').fill(password)
      await press('Sign in')
    },
    /** Opens a window of a separate browser. */
    anotherWindow: (options: Options = {}) => browser.newContext(options),
    /** Replaces this window with another, for instance with that of a phone, or with one without JavaScript. */
    reopen: async (options: Options) => {
      await context.close()
      await newWindow(options)
    },
    /**
     * Expects no findings of axe in light or dark, nothing cut off, and no requests to elsewhere. PICTURES=<folder> saves a picture of each
     * look.
     */
    check: async (what: string) => {
      const folder = process.env['PICTURES']
      const onLook = async (look: string) => {
        const file = `${what}-${look}`.replace(/\W+/g, '-')
        if (folder !== undefined) await page.screenshot({ path: `${folder}/${file}.png`, fullPage: true })
      }
      const looks = looksOn('this screen', page.viewportSize() ?? DESKTOP)
      expect({ what, faults: await faultsInLooks(page, looks, onLook), foreign }).toEqual({
        what,
        faults: [],
        foreign: [],
      })
    },
  }
}

/** An application that people are sent back to. */
export async function startApplication(): Promise<{ home: string; close(): void }> {
  const server = createServer((_, res) => res.end('<title>Application</title>')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const home = `http://127.0.0.1:${(server.address() as AddressInfo).port}/signed-in`
  return { home, close: () => void server.close() }
}
