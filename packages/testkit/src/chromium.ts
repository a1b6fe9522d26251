import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { CDPSession, Page } from 'playwright-core'

export { type Chromium, chromiumPath, launchChromium } from './chromium-process.js'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * A device that unlocks itself whenever a page asks for a passkey or a security key. Chromium forgets it with the
 * debugger's session, which this keeps for as long as the page is open.
 */
export async function plugInAuthenticator(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
}

/** The rules of axe-core: all that it has on by default, or those of them that judge colours. */
export type AxeRules = 'all' | 'colours'

/** A tag takes in rules that are off by default too, so that one is named. Only what breaks a rule is reported in full: listing what passes takes time. */
const AXE_OPTIONS = {
  all: { resultTypes: ['violations'] },
  colours: {
    resultTypes: ['violations'],
    runOnly: { type: 'tag', values: ['cat.color'] },
    rules: { 'color-contrast-enhanced': { enabled: false } },
  },
}

/** What axe-core finds wrong on the page as it is shown. */
export async function accessibilityFindings(page: Page, rules: AxeRules = 'all'): Promise<string[]> {
  const session = await withAxe(page)
  const { frameTree } = await session.send('Page.getFrameTree')
  // Gives the world of that name, which the document has already.
  const { executionContextId: contextId } = await session.send('Page.createIsolatedWorld', {
    frameId: frameTree.frame.id,
    worldName: AXE_WORLD,
  })
  const { result } = await session.send('Runtime.evaluate', {
    expression: `axe.run(${JSON.stringify(AXE_OPTIONS[rules])}).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`,
    contextId,
    awaitPromise: true,
    returnByValue: true,
  })
  // A run that failed must not look like one that found nothing.
  if (!Array.isArray(result.value)) throw new Error(`axe-core gave no list: ${String(result.description)}`)
  return result.value as string[]
}

const AXE_WORLD = 'axe-core'
const sessions = new WeakMap<Page, Promise<CDPSession>>()

/**
 * Has the browser put axe-core into each document of the page, from the one that it shows on. The policies of our pages
 * let no script in, so axe-core lives in an isolated world of the debugger. Sending its source for each run would take
 * longer than the run of most pages.
 */
export function withAxe(page: Page): Promise<CDPSession> {
  let session = sessions.get(page)
  if (session === undefined) {
    session = attachAxe(page)
    sessions.set(page, session)
  }
  return session
}

async function attachAxe(page: Page): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page)
  await session.send('Page.enable')
  await session.send('Page.addScriptToEvaluateOnNewDocument', {
    source: AXE,
    worldName: AXE_WORLD,
    runImmediately: true,
  })
  return session
}

/** By how many pixels the page is wider than the window. */
export const sidewaysScroll = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth')
