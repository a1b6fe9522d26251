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
 * How a page looks on a screen, in both color schemes. Our style sheets change only colors for the dark scheme
 * (`packages/brand/src/tokens.ts`), so only rules about colors can find more there than in the light scheme.
 */
export const looksOn = (screen: string, viewport: Look['viewport']): Look[] => [
  { name: `light on ${screen}`, colorScheme: 'light', viewport, rules: 'all' },
  { name: `dark on ${screen}`, colorScheme: 'dark', viewport, rules: 'colors' },
]

const ON_A_PHONE = looksOn('a phone', PHONE)
/** How people see pages: in both color schemes, on a phone and on a desktop. */
export const LOOKS = [...ON_A_PHONE, ...looksOn('a desktop', DESKTOP)]

/** German words are long, and a phone has the least room for them. German pages have the same colors as English ones. */
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
  /** Signs in, if the pages require it. */
  prepare?: (page: Page) => Promise<unknown>
  /** Called on each page, when it is loaded. */
  onPage?: (page: Page, path: string) => Promise<unknown>
}

type Walk = Visit & {
  /** The URL to which the paths are appended. */
  base: string
  context?: BrowserContextOptions
  /** Other people who use the same window afterwards, without the cookies of the previous visitor. */
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
 * Opens every page in a language, and lists what axe-core finds, what is cut off, what comes from elsewhere, and which controls
 * have the same name. A page is loaded once and then shown in each look.
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
    // A page that shows the same elements again has the same structure, so only its layout needs a check.
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

/** The elements of a page, each with what decides whether everybody, only screen readers, or nobody perceives it. */
const SHOWN = `[...document.querySelectorAll('*')].map((element) => {
  const { display, visibility, clip, clipPath } = getComputedStyle(element)
  return [element.localName, display, visibility, clip, clipPath, element.offsetWidth === 0, element.offsetHeight === 0].join()
}).join('\\n')`

async function show(page: Page, { name, colorScheme, viewport }: Look): Promise<void> {
  await page.emulateMedia({ colorScheme })
  await page.setViewportSize(viewport)
  // If the look had not taken effect, its faults would go unnoticed.
  const shown = await page.evaluate<boolean>(
    `innerWidth === ${viewport.width} && matchMedia('(prefers-color-scheme: ${colorScheme})').matches`,
  )
  if (!shown) throw new Error(`${page.url()} is not shown ${name}`)
}

/** Lists what breaks without scripts: a page needs a visible heading, forms that can be sent, and no button outside of them. */
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
  // All pages share one window, because each window is a process that compiles everything again, above all axe-core.
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
 * Addresses for all pages of a table of routes, so that none is forgotten. `samples` has a value for each parameter, keyed by the
 * segment before it and its name, such as `endpoints/:id`. Throws for a parameter without a sample.
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
