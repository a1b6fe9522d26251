import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { CDPSession, Page } from 'playwright-core'

export { type Chromium, chromiumPath, launchChromium } from './chromium-process.js'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * Adds a virtual device that unlocks itself whenever a page asks for a passkey or a security key. Chromium removes it when the
 * debugger session ends, so this keeps the session for as long as the page is open.
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

/**
 * Sets of axe-core rules: all rules that are on by default; those that check layout and colors; those that check colors; or all
 * but those, for a page whose words differ from those of a checked page and whose colors do not.
 */
export type AxeRules = 'all' | 'layout' | 'colors' | 'words'

const COLORS = ['color-contrast', 'link-in-text-block']
const LAYOUT = [...COLORS, 'scrollable-region-focusable', 'skip-link']
/** Reports only violations in full, and only by their markup, because listing the rest takes time. */
const REPORT = { resultTypes: ['violations'], selectors: false }
const AXE_OPTIONS = {
  all: REPORT,
  layout: { ...REPORT, runOnly: LAYOUT },
  colors: { ...REPORT, runOnly: COLORS },
  words: { ...REPORT, rules: Object.fromEntries(COLORS.map((rule) => [rule, { enabled: false }])) },
}

/**
 * One element that contains text for each combination of what its contrast depends on: its style, and all that is drawn behind it.
 * An API page has thousands of elements, but only a hundred combinations.
 */
const ONE_OF_EACH_COLOR = `(() => {
  const behind = new Map([[null, '']])
  const drawn = (element) => {
    if (!behind.has(element)) {
      const { backgroundColor, backgroundImage, opacity, filter, mixBlendMode, position, zIndex } = getComputedStyle(element)
      behind.set(element, [drawn(element.parentElement), backgroundColor, backgroundImage, opacity, filter, mixBlendMode, position, zIndex].join())
    }
    return behind.get(element)
  }
  const found = new Map()
  for (const element of document.body.querySelectorAll('*')) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '')
    if (!(hasText || element.matches('input, textarea, select')) || !element.checkVisibility()) continue
    const { color, fontSize, fontWeight, textShadow, textDecorationLine } = getComputedStyle(element)
    const kind = [element.localName, drawn(element), color, fontSize, fontWeight, textShadow, textDecorationLine].join()
    if (!found.has(kind)) found.set(kind, element)
  }
  return found.size === 0 ? document : { include: [...found.values()] }
})()`

/** What axe-core finds wrong on the page as it is shown. */
export async function accessibilityFindings(page: Page, rules: AxeRules = 'all'): Promise<string[]> {
  const session = await withAxe(page)
  const { frameTree } = await session.send('Page.getFrameTree')
  // Returns the existing world of that name.
  const { executionContextId: contextId } = await session.send('Page.createIsolatedWorld', {
    frameId: frameTree.frame.id,
    worldName: AXE_WORLD,
  })
  const { result } = await session.send('Runtime.evaluate', {
    expression: `axe.run(${rules === 'colors' ? ONE_OF_EACH_COLOR : 'document'}, ${JSON.stringify(AXE_OPTIONS[rules])}).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`,
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
 * Has the browser load axe-core into each document of the page, beginning with the current one. The policies of our pages block other
 * scripts, so axe-core runs in an isolated world of the debugger. For most pages, sending its source would take longer than the run.
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
