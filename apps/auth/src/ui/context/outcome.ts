import type { Request } from 'express'
import type { Browser } from './browser-state.js'
import type { UiDeps } from './ui-deps.js'

type Deps = Pick<UiDeps, 'state' | 'now'>

const PARAMETER = 'done'
/** Long enough to read an email that a page announced, and then reload the page. */
const LIFE_MS = 3_600_000

const labelOf = ({ id, lastUserId }: Browser): string => `outcome ${id} ${lastUserId ?? ''}`

/**
 * What a form has just done, as a parameter of the page that reports it. It works only in this browser, so no link from elsewhere can make
 * a page report it. It works only while the same person uses the browser, so the browser's history does not report it to the next person.
 */
export const outcome = ({ state, now }: Deps, browser: Browser, done: string) => ({
  [PARAMETER]: state.seal(labelOf(browser), { done, until: now().getTime() + LIFE_MS }),
})

/** The {@link outcome} that the page should report; empty if there is none. */
export function outcomeIn({ state, now }: Deps, browser: Browser, req: Request): string {
  const { [PARAMETER]: sealed } = req.query
  const said =
    typeof sealed === 'string' ? state.open<{ done: string; until: number }>(labelOf(browser), sealed) : null
  return said !== null && said.until > now().getTime() ? said.done : ''
}
