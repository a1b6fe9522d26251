import type { Browser, BrowserState } from './browser-state.js'

/** The parameter that carries what was typed into a form that was refused. */
export const KEPT = 'kept'

/** Fields that are shown again; none of them is secret. */
const FIELDS = ['identifier', 'email', 'phone', 'name'] as const
const MAX_LENGTH = 320

const labelOf = ({ id }: Browser): string => `kept fields ${id}`

/** Seals the fields for a URL. It has no addresses in plain text, and works only in this browser. */
export const sealKept = (state: BrowserState, browser: Browser, text: (name: string) => string): string =>
  state.seal(labelOf(browser), {
    fields: FIELDS.map((name) => [name, text(name).slice(0, MAX_LENGTH)]).filter(([, value]) => value !== ''),
  })

export const openKept = (
  state: BrowserState,
  browser: Browser,
  sealed: string,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    (sealed === '' ? null : state.open<{ fields: [string, string][] }>(labelOf(browser), sealed))?.fields ??
      [],
  )
