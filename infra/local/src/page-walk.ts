import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { accessibilityFindings, sidewaysScroll } from './browser.js'

const PHONE = { width: 360, height: 740 }
const DESKTOP = { width: 1280, height: 800 }

type Look = Pick<BrowserContextOptions, 'colorScheme' | 'viewport' | 'locale'>

/** How people see pages: in both colour schemes, on a phone and on a desktop; and in German, whose words are long. */
export const LOOKS: readonly (readonly [name: string, look: Look])[] = [
  ['light on a phone', { colorScheme: 'light', viewport: PHONE, locale: 'en' }],
  ['light on a desktop', { colorScheme: 'light', viewport: DESKTOP, locale: 'en' }],
  ['dark on a phone', { colorScheme: 'dark', viewport: PHONE, locale: 'en' }],
  ['dark on a desktop', { colorScheme: 'dark', viewport: DESKTOP, locale: 'en' }],
  ['German on a phone', { colorScheme: 'light', viewport: PHONE, locale: 'de' }],
]

/** What is wrong with a page for people; each empty when nothing is. */
export type PageFaults = { at: string; axe: string[]; sideways: number; foreign: string[]; alike: string[] }

type Walk = {
  /** Where the pages are. */
  base: string
  /** Paths of the pages. */
  paths: readonly string[]
  context?: BrowserContextOptions
  /** Signs in, where the pages need that. */
  prepare?: (page: Page) => Promise<unknown>
  /** Called on each page. */
  onPage?: (page: Page, path: string) => Promise<unknown>
}

/** Buttons, and those that open a part of an entry, that whoever hears only their names cannot tell apart. `.show` belongs to the field before it. */
const ALIKE = `['button:not(.show)', '.entries summary'].flatMap((selector) =>
  [...document.querySelectorAll(selector)]
    .map((control) => (control.ariaLabel ?? control.textContent).trim())
    .filter((name, index, names) => names.indexOf(name) !== index))`

/** Opens every page, and lists those with something that axe-core finds, that is cut off, or that comes from elsewhere. */
export async function faultsOfPages(browser: Browser, walk: Walk): Promise<PageFaults[]> {
  const found: PageFaults[] = []
  await walkPages(browser, walk, async (page, path, foreign) => {
    const faults = {
      at: path,
      axe: await accessibilityFindings(page),
      sideways: await sidewaysScroll(page),
      foreign,
      alike: await page.evaluate<string[]>(ALIKE),
    }
    if (faults.axe.length + faults.sideways + foreign.length + faults.alike.length > 0) found.push(faults)
  })
  return found
}

/** Looked at without a script: a heading that is seen, forms that can be sent, and no button outside of them. */
const NEEDS_SCRIPT = `[
  ...(document.querySelector('h1')?.checkVisibility() ? [] : ['no heading']),
  ...[...document.querySelectorAll('form')]
    .filter((form) => form.checkVisibility() && !form.querySelector('button:not([type=button]), input[type=submit]'))
    .map((form) => 'a form that cannot be sent: ' + form.outerHTML.slice(0, 120)),
  ...[...document.querySelectorAll('button')]
    .filter((button) => button.checkVisibility() && (button.type === 'button' || !button.form))
    .map((button) => 'a button that does nothing: ' + button.outerHTML.slice(0, 120)),
]`

/** Opens every page with scripts switched off, and lists what only works with one. */
export async function needsOfScript(browser: Browser, walk: Walk): Promise<string[]> {
  const found: string[] = []
  const context = { ...walk.context, javaScriptEnabled: false }
  await walkPages(browser, { ...walk, context }, async (page, path) => {
    const needs = await page.evaluate<string[]>(NEEDS_SCRIPT)
    found.push(...needs.map((need) => `${path}: ${need}`))
  })
  return found
}

async function walkPages(
  browser: Browser,
  { base, paths, context: options, prepare, onPage }: Walk,
  look: (page: Page, path: string, foreign: string[]) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext(options)
  try {
    const page = await context.newPage()
    await prepare?.(page)
    let foreign: string[] = []
    page.on('request', (request) => {
      if (!request.url().startsWith(base) && !request.url().startsWith('data:')) foreign.push(request.url())
    })
    for (const path of paths) {
      foreign = []
      await page.goto(`${base}${path}`)
      await onPage?.(page, path)
      await look(page, path, foreign)
    }
  } finally {
    await context.close()
  }
}

/**
 * Addresses for all pages of a table of routes, so that none is forgotten: `samples` has the values of the parameters of a
 * path (`:id`), by what is before them in the path and their name. Throws for a parameter without one.
 */
export function addressesOf(paths: readonly string[], samples: Readonly<Record<string, string>>): string[] {
  return [...new Set(paths)].map((path) =>
    path.replace(/([^/]+)\/:(\w+)/g, (_, before: string, name: string) => {
      const value = samples[`${before}/:${name}`]
      if (value === undefined) throw new Error(`no sample for ${before}/:${name} of ${path}`)
      return `${before}/${value}`
    }),
  )
}
