import { html, type Html } from '@signet/pages'
import type { EndpointHealth } from '../endpoints/endpoint-health-store.js'
import { milliseconds } from './show.js'

const HOURS = 24
const BAR = 10
const HEIGHT = 60

/** The last 24 hours of an endpoint: numbers, and a plot with a bar for each hour. */
export function healthView(health: EndpointHealth | undefined): Html {
  if (health === undefined) return html`<p class="soft">Nothing was sent in the last 24 hours.</p>`
  const { delivered, failed, pending, p50, p95, isPartial } = health
  return html`<ul class="numbers">
      <li><strong>${delivered}</strong> delivered</li>
      <li><strong>${failed}</strong> failed</li>
      <li><strong>${pending}</strong> pending</li>
      ${p50 !== null && html`<li>half within <strong>${milliseconds(p50)}</strong></li>`}
      ${p95 !== null && html`<li>95% within <strong>${milliseconds(p95)}</strong></li>`}
    </ul>
    ${plot(health)}
    <p class="soft">
      ${isPartial ? 'The newest deliveries' : 'Deliveries'} of the last 24 hours, by the hour.
    </p>`
}

function plot({ delivered, failed, hours }: EndpointHealth): Html {
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
    aria-label="Deliveries by the hour: ${delivered} delivered, ${failed} failed"
  >
    ${bars}
  </svg>`
}
