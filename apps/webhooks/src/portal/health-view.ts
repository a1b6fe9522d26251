import { html, hourlyPlot, type Html } from '@signet/pages'
import type { EndpointHealth } from '@signet/webhook-core/stores'
import type { Texts } from '../pages/texts.js'
import { milliseconds } from './show.js'

/** The last 24 hours of an endpoint: numbers, and a plot with one bar per hour. */
export function healthView(t: Texts, health: EndpointHealth | undefined): Html {
  if (health === undefined) return html`<p class="soft">${t('portal.health.none')}</p>`
  const { delivered, failed, pending, p50, p95, isPartial } = health
  return html`<ul class="numbers">
      <li>${t.html('portal.count.delivered', { count: delivered })}</li>
      <li>${t.html('portal.count.failed', { count: failed })}</li>
      <li>${t.html('portal.count.pending', { count: pending })}</li>
      ${p50 !== null && html`<li>${t.html('portal.health.half', { time: milliseconds(t, p50) })}</li>`}
      ${p95 !== null && html`<li>${t.html('portal.health.most', { time: milliseconds(t, p95) })}</li>`}
    </ul>
    ${hourlyPlot(health, t)}
    <p class="soft">${t(isPartial ? 'portal.health.newest' : 'portal.health.all')}</p>`
}
