import type { Request } from 'express'
import type { Browser } from './browser-state.js'
import type { UiDeps } from './ui-deps.js'

type Deps = Pick<UiDeps, 'state' | 'now'>

const PARAMETER = 'done'
/** Long enough to read an email that a page says was sent, and reload the page. */
const LIFE_MS = 3_600_000

const labelOf = ({ id, lastUserId }: Browser): string => `outcome ${id} ${lastUserId ?? ''}`

/**
 * What a form has just done, as a parameter of the page that says so. It opens in this browser alone, so no link from elsewhere makes
 * a page say it, and only while the same person uses it, so neither does its history to the next.
 */
export const outcome = ({ state, now }: Deps, browser: Browser, done: string) => ({
  [PARAMETER]: state.seal(labelOf(browser), { done, until: now().getTime() + LIFE_MS }),
})

/** What {@link outcome} says to the page that is opened; empty if nothing does. */
export function outcomeIn({ state, now }: Deps, browser: Browser, req: Request): string {
  const { [PARAMETER]: sealed } = req.query
  const said =
    typeof sealed === 'string' ? state.open<{ done: string; until: number }>(labelOf(browser), sealed) : null
  return said !== null && said.until > now().getTime() ? said.done : ''
}
