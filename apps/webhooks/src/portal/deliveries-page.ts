import type { Answer } from '@signet/http'
import { html, table, type Html } from '@signet/pages'
import { deliveryStatus, eventTypes } from '@signet/webhook-core'
import type { Endpoint } from '@signet/webhook-core/stores'
import type { Delivery } from '../deliveries/delivery-row.js'
import type { Texts } from '../pages/texts.js'
import type { PortalContext } from './portal-context.js'
import { live, reasonInWords, statusInWords, timeOf } from './show.js'

/** Periods that the filter offers, in hours. */
export const RANGES = [
  ['hour', 1],
  ['day', 24],
  ['week', 168],
] as const

type Log = {
  items: readonly Delivery[]
  /** The filter as it is in the query. */
  chosen: Readonly<Record<string, string>>
  /** Query of the next page. Null at the end. */
  next: string | null
}

export function deliveriesPage(
  portal: PortalContext,
  { id, url }: Endpoint,
  { items, chosen, next }: Log,
): Answer {
  const { t } = portal
  const own = `/endpoints/${id}/deliveries`
  // The delivery of an event that was just sent is created after the response.
  const isUnderWay =
    items.some(({ status }) => status === deliveryStatus.pending) ||
    (items.length === 0 && chosen['event_id'] !== undefined)
  const list =
    items.length > 0
      ? deliveryTable(portal, own, items)
      : html`<p role="status">${t(next === null ? 'portal.log.none' : 'portal.log.none-passes')}</p>`
  const a = portal.link(`/endpoints/${id}`)
  const body = html`<p>${t.html('portal.log.of', { url, a })}</p>
    ${filterForm(t, portal.path(own), chosen)} ${live(portal, isUnderWay, list)}
    ${next !== null && html`<p class="links"><a href="${portal.path(own)}?${next}">${t('portal.log.older')}</a></p>`}`
  return portal.render({ title: t('portal.log.title'), section: 'endpoints', body, isLive: isUnderWay })
}

const option = (value: string, label: string, chosen: string | undefined): Html =>
  html`<option value="${value}" ${value === chosen && html`selected`}>${label}</option>`

const filterForm = (t: Texts, action: string, chosen: Log['chosen']): Html =>
  html`<form method="get" action="${action}" class="filters">
    <div>
      <label for="status">${t('portal.log.status')}</label>
      <select id="status" name="status">
        <option value="">${t('portal.log.all')}</option>
        ${Object.values(deliveryStatus).map((status) =>
          option(String(status), statusInWords(t, status), chosen['status']),
        )}
      </select>
    </div>
    <div>
      <label for="event_type">${t('portal.log.event')}</label>
      <select id="event_type" name="event_type">
        <option value="">${t('portal.log.all')}</option>
        ${eventTypes.map((type) => option(type, type, chosen['event_type']))}
      </select>
    </div>
    <div>
      <label for="range">${t('portal.log.created-in')}</label>
      <select id="range" name="range">
        <option value="">
          ${
            chosen['since'] === undefined
              ? t('portal.range.month')
              : t('portal.since', { time: chosen['since'] })
          }
        </option>
        ${RANGES.map(([name]) => option(name, t(`portal.range.${name}`), undefined))}
      </select>
    </div>
    <div>
      <label for="event_id">${t('portal.log.event-id')}</label>
      <input id="event_id" name="event_id" value="${chosen['event_id'] ?? ''}" placeholder="evt_…" />
    </div>
    <div><button type="submit">${t('portal.log.filter')}</button></div>
  </form>`

function deliveryTable(portal: PortalContext, own: string, items: readonly Delivery[]): Html {
  const { t } = portal
  return table(
    t('portal.log.deliveries'),
    [t('portal.log.created'), t('portal.log.event'), t('portal.log.status'), t('portal.log.attempts')],
    items.map((item) => [
      html`<a href="${portal.path(`${own}/${item.id}`)}">${timeOf(t, item.createdAt)}</a>`,
      html`<code>${item.eventType}</code>`,
      html`${statusInWords(t, item.status)}${
        item.status !== deliveryStatus.delivered &&
        item.lastError !== '' &&
        html`: ${reasonInWords(t, item.lastError)}`
      }`,
      html`${item.attempts}`,
    ]),
    t,
  )
}
