import { html, hourlyPlot, type Html } from '@signet/pages'
import type { EndpointHealth } from '@signet/webhook-core/stores'
import { milliseconds } from './show.js'

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
    ${hourlyPlot(health)}
    <p class="soft">
      ${isPartial ? 'The newest deliveries' : 'Deliveries'} of the last 24 hours, by the hour.
    </p>`
}
