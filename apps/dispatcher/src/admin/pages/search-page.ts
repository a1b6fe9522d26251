import { html, type Page } from '@signet/pages'
import type { Hit } from '../admin-service.js'
import { adminPage } from './admin-page.js'
import { link } from './show.js'

const NAMES = { events: 'Event', deliveries: 'Delivery', endpoints: 'Endpoint', accounts: 'Account' } as const

/** For a number that names two things, or an id that names none. */
export const searchPage = (query: string, hits: readonly Hit[]): Page =>
  adminPage({
    title: hits.length === 0 ? 'Nothing found' : 'Found',
    query,
    body:
      hits.length === 0
        ? html`<p>
              No event, delivery, endpoint or account has the id <code>${query}</code>. Events and their
              deliveries are deleted after 30 days.
            </p>
            <p class="soft">
              An event id is <code>evt_</code> and 32 characters, an account id is a UUID, deliveries and
              endpoints are numbers. Receivers see both ids in <code>webhook-id</code> and
              <code>X-Service-Delivery</code>.
            </p>`
        : html`<ul>
            ${hits.map(({ kind, id }) => html`<li>${NAMES[kind]} ${link(kind, id)}</li>`)}
          </ul>`,
  })
