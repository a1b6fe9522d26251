import type { Answer } from '@signet/http'
import { html, type Html } from '@signet/pages'
import { deliveryStatus, eventTypes } from '@signet/webhook-core'
import type { Endpoint } from '@signet/webhook-core/stores'
import type { Delivery } from '../deliveries/delivery-row.js'
import type { Visit } from './visit.js'
import { live, reasonInWords, statusInWords, timeOf } from './show.js'

/** Times that the filter offers, in hours. */
export const RANGES = [
  ['hour', 1, 'the last hour'],
  ['day', 24, 'the last 24 hours'],
  ['week', 168, 'the last 7 days'],
] as const

type Log = {
  items: readonly Delivery[]
  /** The filter as it is in the query. */
  chosen: Readonly<Record<string, string>>
  /** Query of the next page; null at the end. */
  next: string | null
}

export function deliveriesPage(visit: Visit, { id, url }: Endpoint, { items, chosen, next }: Log): Answer {
  const own = `/endpoints/${id}/deliveries`
  // The delivery of an event that was just sent is made after the answer.
  const isUnderWay =
    items.some(({ status }) => status === deliveryStatus.pending) ||
    (items.length === 0 && chosen['event_id'] !== undefined)
  const list =
    items.length > 0
      ? table(visit, own, items)
      : html`<p role="status">
          ${next === null ? 'Nothing here.' : 'Nothing on this page that passes the filter; there may be more.'}
          An event that was just sent can take a moment.
        </p>`
  const body = html`<p>
      Of <a href="${visit.path(`/endpoints/${id}`)}">${url}</a>, newest first, kept for 30 days.
    </p>
    ${filterForm(visit.path(own), chosen)} ${live(visit, isUnderWay, list)}
    ${next !== null && html`<p class="links"><a href="${visit.path(own)}?${next}">Older</a></p>`}`
  return visit.render({ title: 'Delivery log', section: 'endpoints', body, isLive: isUnderWay })
}

const option = (value: string, label: string, chosen: string | undefined): Html =>
  html`<option value="${value}" ${value === chosen && html`selected`}>${label}</option>`

const filterForm = (action: string, chosen: Log['chosen']): Html =>
  html`<form method="get" action="${action}" class="filters">
    <div>
      <label for="status">Status</label>
      <select id="status" name="status">
        <option value="">All</option>
        ${Object.values(deliveryStatus).map((status) =>
          option(String(status), statusInWords(status), chosen['status']),
        )}
      </select>
    </div>
    <div>
      <label for="event_type">Event</label>
      <select id="event_type" name="event_type">
        <option value="">All</option>
        ${eventTypes.map((type) => option(type, type, chosen['event_type']))}
      </select>
    </div>
    <div>
      <label for="range">Created in</label>
      <select id="range" name="range">
        <option value="">
          ${chosen['since'] === undefined ? 'the last 30 days' : `since ${chosen['since']}`}
        </option>
        ${RANGES.map(([name, , label]) => option(name, label, undefined))}
      </select>
    </div>
    <div>
      <label for="event_id">Event id</label>
      <input id="event_id" name="event_id" value="${chosen['event_id'] ?? ''}" placeholder="evt_…" />
    </div>
    <div><button type="submit">Filter</button></div>
  </form>`

const table = (visit: Visit, own: string, items: readonly Delivery[]): Html =>
  html`<div class="scroll" role="region" aria-label="Deliveries" tabindex="0">
    <table>
      <thead>
        <tr>
          <th scope="col">Created</th>
          <th scope="col">Event</th>
          <th scope="col">Status</th>
          <th scope="col">Attempts</th>
        </tr>
      </thead>
      <tbody>
        ${items.map(
          (item) =>
            html`<tr>
              <td><a href="${visit.path(`${own}/${item.id}`)}">${timeOf(item.createdAt)}</a></td>
              <td><code>${item.eventType}</code></td>
              <td>
                ${statusInWords(item.status)}${
                  item.status !== deliveryStatus.delivered &&
                  item.lastError !== '' &&
                  html`: ${reasonInWords(item.lastError)}`
                }
              </td>
              <td>${item.attempts}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
