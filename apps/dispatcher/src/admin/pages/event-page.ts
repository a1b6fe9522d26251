import { facts, html, time, type Page } from '@signet/pages'
import type { EventDetail } from '../admin-service.js'
import { SHOWN } from '../shown.js'
import { adminPage } from './admin-page.js'
import { attemptsView } from './attempts-view.js'
import { deliveryTable, link, pathOf, urlOf } from './show.js'

/** Characters of a payload that the page shows. */
const MAX_SHOWN = 50_000

/** Everything that happened to one event. */
export function eventPage({ event, deliveries, attempts, job }: EventDetail): Page {
  const body = html`${facts([
      ['', html`<code>${event.id}</code>`],
      ['Type', html`<code>${event.type}</code>`],
      ['State', html`<strong>${event.state}</strong>`],
      ['Account', link('accounts', event.accountId)],
      ['From', event.source],
      ['Only to endpoint', event.targetEndpointId && link('endpoints', event.targetEndpointId)],
      ['Accepted', time(event.createdAt)],
      ['Dispatched', time(event.dispatchedAt)],
      ['Job', job],
      ['Body', event.bytes === 0 ? 'none' : `${event.bytes} bytes`],
      ['HTML that was not converted', event.unconverted],
    ])}
    ${
      event.bytes > 0 &&
      html`<p>
        <a href="${pathOf('events', event.id)}/payload">Show what is sent</a>
        <span class="soft">What people said and wrote. That you looked is logged.</span>
      </p>`
    }
    <h2>Deliveries</h2>
    ${deliveryTable(deliveries, 'endpoint')}
    ${deliveries.length === SHOWN && html`<p class="soft">The first ${SHOWN}; there may be more.</p>`}
    ${deliveries.map(
      (delivery) =>
        html`<section class="entry">
          <h2>Delivery ${link('deliveries', delivery.id)} to ${urlOf(delivery)}</h2>
          ${attemptsView(attempts.filter(({ deliveryId }) => deliveryId === delivery.id))}
        </section>`,
    )}`
  return adminPage({ title: 'Event', body, query: event.id })
}

export function payloadPage(id: string, payload: string): Page {
  const shown = payload.slice(0, MAX_SHOWN)
  return adminPage({
    title: 'What is sent',
    query: id,
    body: html`<p>Event ${link('events', id)}</p>
      <pre tabindex="0" aria-label="The body of the request">${shown}</pre>
      ${shown.length < payload.length && html`<p class="soft">The first ${MAX_SHOWN} of ${payload.length} characters.</p>`}`,
  })
}
