import { DEFAULT_LANGUAGE } from '@signet/language'
import { html, type Html } from './html.js'
import { kitTexts, type PageTexts } from './page-texts.js'

const HOURS = 24
const BAR = 10
const HEIGHT = 60

export type HourlyCounts = {
  readonly delivered: number
  readonly failed: number
  readonly hours: readonly {
    readonly hoursAgo: number
    readonly delivered: number
    readonly failed: number
  }[]
}

/** The deliveries of the last 24 hours, a bar for each hour. */
export function hourlyPlot(
  { delivered, failed, hours }: HourlyCounts,
  t: PageTexts = kitTexts(DEFAULT_LANGUAGE),
): Html {
  const most = Math.max(1, ...hours.map((hour) => hour.delivered + hour.failed))
  const height = (count: number) => Math.round((count / most) * HEIGHT)
  const bars = hours
    .filter(({ hoursAgo }) => hoursAgo < HOURS)
    .map((hour) => {
      const x = (HOURS - 1 - hour.hoursAgo) * BAR
      const [good, bad] = [height(hour.delivered), height(hour.failed)]
      return html`<rect class="delivered" x="${x}" y="${HEIGHT - good}" width="${BAR - 2}" height="${good}" />
        <rect class="failed" x="${x}" y="${HEIGHT - good - bad}" width="${BAR - 2}" height="${bad}" />`
    })
  return html`<svg
    class="plot"
    viewBox="0 0 ${HOURS * BAR} ${HEIGHT}"
    preserveAspectRatio="none"
    role="img"
    aria-label="${t('kit.plot', { delivered, failed })}"
  >
    ${bars}
  </svg>`
}
