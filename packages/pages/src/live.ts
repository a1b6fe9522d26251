import { html, type Html } from './html.js'
import type { PageTexts } from './page-texts.js'
import { time } from './tables.js'

export type LivePart = {
  /** Path of the page itself. */
  here: string
  now: Date
  /** Whether there is anything to wait for. */
  isUnderWay?: boolean
}

/**
 * A part of a page about work in progress. On pages that poll, the script of forms keeps it up to date; without a script, readers
 * use the link. The part says how current it is.
 */
export const live = (t: PageTexts, { here, now, isUnderWay = true }: LivePart, content: Html): Html =>
  html`<div ${isUnderWay && html`data-live`}>
    ${content}
    <p class="soft">
      ${t.html('kit.as-of', { time: time(now, t.language) })} <a href="${here}">${t('kit.refresh')}</a>
    </p>
  </div>`
