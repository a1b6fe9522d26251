import { facts, html, table, time, type Page } from '@signet/pages'
import type { AccountDetail } from '../admin-service.js'
import { adminPage } from './admin-page.js'
import { commands, endpointState, link, urlOf } from './show.js'

/** What is here of an account. Its person is looked up in the identity server. */
export function accountPage({ accountId, state, endpoints, events }: AccountDetail): Page {
  const body = html`${facts([
      ['', html`<code>${accountId}</code>`],
      ['Banned until', time(state?.bannedUntil ?? null)],
      ['Signed out everywhere', time(state?.signedOutAt ?? null)],
      ['Deleted', time(state?.deletedAt ?? null)],
      ['Removed', time(state?.purgedAt ?? null)],
    ])}
    <h2>Endpoints</h2>
    ${table(
      'Endpoints',
      ['Endpoint', 'State', 'Created'],
      endpoints.map((endpoint) => [
        html`${link('endpoints', endpoint.id)} ${urlOf(endpoint)}`,
        endpointState({ ...endpoint, deletedAt: null }),
        html`${time(endpoint.createdAt)}`,
      ]),
    )}
    <h2>Newest events</h2>
    ${table(
      'Events',
      ['Event', 'Type', 'Accepted'],
      events.map((event) => [
        link('events', event.id),
        html`<code>${event.type}</code>`,
        html`${time(event.createdAt)}`,
      ]),
    )}
    ${commands([`account ${accountId}`])}`
  return adminPage({ title: 'Account', body, query: accountId })
}
