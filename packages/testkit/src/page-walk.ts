import type { BrowserContextOptions, Page } from 'playwright-core'
import { accessibilityFindings, sidewaysScroll, withAxe, type AxeRules, type Chromium } from './chromium.js'

const PHONE = { width: 360, height: 740 }
const DESKTOP = { width: 1280, height: 800 }

type Look = {
  name: string
  colorScheme: 'light' | 'dark'
  viewport: { width: number; height: number }
  rules: AxeRules
}

/**
 * A page on a screen, in both color schemes. Our style sheets change nothing but colors in the dark
 * (`packages/brand/src/tokens.ts`), so only rules about colors can find something there that is not found in light.
 */
export const looksOn = (screen: string, viewport: Look['viewport']): Look[] => [
  { name: `light on ${screen}`, colorScheme: 'light', viewport, rules: 'all' },
  { name: `dark on ${screen}`, colorScheme: 'dark', viewport, rules: 'colors' },
]

const ON_A_PHONE = looksOn('a phone', PHONE)
/** How people see pages: in both color schemes, on a phone and on a desktop. */
export const LOOKS = [...ON_A_PHONE, ...looksOn('a desktop', DESKTOP)]

/** German has long words, which a phone has the least room for. They have the colors of the English ones. */
const LOOKS_IN = {
  en: LOOKS,
  de: ON_A_PHONE.slice(0, 1).map((look) => ({ ...look, rules: 'words' as const })),
}

export const LANGUAGES = [
  ['English', 'en'],
  ['German', 'de'],
] as const satisfies [name: string, language: keyof typeof LOOKS_IN][]

/** What one person sees. */
type Visit = {
  /** Paths of the pages. */
  paths: readonly string[]
  /** Signs in, where the pages need that. */
  prepare?: (page: Page) => Promise<unknown>
  /** Called on each page, when it is loaded. */
  onPage?: (page: Page, path: string) => Promise<unknown>
}

type Walk = Visit & {
  /** Where the pages are. */
  base: string
  context?: BrowserContextOptions
  /** Others who use the same window afterwards, without the cookies of who was there before. */
  next?: readonly Visit[]
}

type WalkInLooks = Walk & {
  language: keyof typeof LOOKS_IN
  /** Called on each page in each look. */
  onLook?: (page: Page, path: string, look: string) => Promise<unknown>
}

/** Button and disclosure names that a screen reader user could not tell apart. `.show` belongs to the field before it. */
export const namedAlike = (page: Page): Promise<string[]> => page.evaluate<string[]>(ALIKE)

const ALIKE = `['button:not(.show)', '.entries summary'].flatMap((selector) =>
  [...document.querySelectorAll(selector)]
    .map((control) => (control.ariaLabel ?? control.textContent).trim())
    .filter((name, index, names) => names.indexOf(name) !== index))`

/**
 * Opens every page in a language, and lists what axe-core finds, what is cut off, what comes from elsewhere, and what is
 * named alike. A page is loaded once and then shown in each look.
 */
export async function faultsOfPages(browser: Chromium, walk: WalkInLooks): Promise<string[]> {
  const found: string[] = []
  const context = { ...walk.context, viewport: PHONE, locale: walk.language }
  await walkPages(browser, { ...walk, context, onOpen: withAxe }, async (page, path, foreign) => {
    const onLook = (look: string) => walk.onLook?.(page, path, look)
    const faults = [
      ...(await faultsInLooks(page, LOOKS_IN[walk.language], onLook)),
      ...foreign.map((url) => `loads ${url}`),
      ...(await namedAlike(page)).map((name) => `more than one is named ${name}`),
    ]
    found.push(...faults.map((fault) => `${path}: ${fault}`))
  })
  return found
}

/** Shows the loaded page in each look, and lists what axe-core finds and what is cut off. */
export async function faultsInLooks(
  page: Page,
  looks: readonly Look[],
  onLook?: (look: string) => unknown,
): Promise<string[]> {
  const found: string[] = []
  let before: string | undefined
  for (const look of looks) {
    await show(page, look)
    await onLook?.(look.name)
    const sideways = await sidewaysScroll(page)
    const shown = await page.evaluate<string>(SHOWN)
    // Pages with the same parts have the same structure.
    const rules = look.rules === 'all' && shown === before ? 'layout' : look.rules
    const faults = [
      ...(sideways > 0 ? [`${sideways} pixels wider than the window`] : []),
      ...(await accessibilityFindings(page, rules)),
    ]
    if (look.rules === 'all') before = shown
    found.push(...faults.map((fault) => `${look.name}: ${fault}`))
  }
  return found
}

/** The elements of a page, and for each its role and whether it is there for all, for screen readers, or for nobody. */
const SHOWN = `[...document.querySelectorAll('*')].map((element) => {
  const { display, visibility, clip, clipPath } = getComputedStyle(element)
  return [element.localName, display, visibility, clip, clipPath, element.offsetWidth === 0, element.offsetHeight === 0].join()
}).join('\\n')`

async function show(page: Page, { name, colorScheme, viewport }: Look): Promise<void> {
  await page.emulateMedia({ colorScheme })
  await page.setViewportSize(viewport)
  // A look that did not take effect would find nothing new.
  const shown = await page.evaluate<boolean>(
    `innerWidth === ${viewport.width} && matchMedia('(prefers-color-scheme: ${colorScheme})').matches`,
  )
  if (!shown) throw new Error(`${page.url()} is not shown ${name}`)
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
export async function needsOfScript(browser: Chromium, walk: Walk): Promise<string[]> {
  const found: string[] = []
  const context = { ...walk.context, javaScriptEnabled: false }
  await walkPages(browser, { ...walk, context }, async (page, path) => {
    const needs = await page.evaluate<string[]>(NEEDS_SCRIPT)
    found.push(...needs.map((need) => `${path}: ${need}`))
  })
  return found
}

async function walkPages(
  browser: Chromium,
  {
    base,
    context: options,
    onOpen,
    next = [],
    ...first
  }: Walk & { onOpen?: (page: Page) => Promise<unknown> },
  look: (page: Page, path: string, foreign: string[]) => Promise<void>,
): Promise<void> {
  // One for all: each window is a process of its own, which compiles everything again, axe-core above all.
  const context = await browser.newContext(options)
  try {
    const page = await context.newPage()
    await onOpen?.(page)
    let foreign: string[] = []
    page.on('request', (request) => {
      if (!request.url().startsWith(base) && !request.url().startsWith('data:')) foreign.push(request.url())
    })
    for (const { paths, prepare, onPage } of [first, ...next]) {
      await context.clearCookies()
      await prepare?.(page)
      for (const path of paths) {
        foreign = []
        await page.goto(`${base}${path}`)
        await onPage?.(page, path)
        await look(page, path, foreign)
      }
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
