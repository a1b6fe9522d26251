import { html, type Html } from './html.js'
import type { PageTexts } from './page-texts.js'
import { time } from './tables.js'

export type LivePart = {
  /** Address of the page itself. */
  here: string
  now: Date
  /** Whether there is anything to wait for. */
  isUnderWay?: boolean
}

/**
 * A part of a page about work in progress. The script of forms keeps it up to date on pages that poll; without a script,
 * the link does. It says as of when it is.
 */
export const live = (t: PageTexts, { here, now, isUnderWay = true }: LivePart, content: Html): Html =>
  html`<div ${isUnderWay && html`data-live`}>
    ${content}
    <p class="soft">
      ${t.html('kit.as-of', { time: time(now, t.language) })} <a href="${here}">${t('kit.refresh')}</a>
    </p>
  </div>`
