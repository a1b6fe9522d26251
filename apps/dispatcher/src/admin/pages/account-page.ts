import { facts, html, table, time, type Page } from '@signet/pages'
import type { AccountDetail } from '../admin-service.js'
import { adminPage } from './admin-page.js'
import { commands, endpointState, link, urlOf } from './show.js'
import type { AdminTexts } from './texts.js'

/** What the database of webhooks has about an account. The identity server knows whose it is. */
export function accountPage(t: AdminTexts, { accountId, state, endpoints, events }: AccountDetail): Page {
  const when = (at: Date | null | undefined) => time(at ?? null, t.language)
  const body = html`${facts([
      ['', html`<code>${accountId}</code>`],
      [t('account.banned-until'), when(state?.bannedUntil)],
      [t('account.signed-out'), when(state?.signedOutAt)],
      [t('account.deleted'), when(state?.deletedAt)],
      [t('account.removed'), when(state?.purgedAt)],
    ])}
    <h2>${t('endpoints')}</h2>
    ${table(
      t('endpoints'),
      [t('column.endpoint'), t('column.state'), t('column.created')],
      endpoints.map((endpoint) => [
        html`${link('endpoints', endpoint.id)} ${urlOf(endpoint)}`,
        endpointState(t, { ...endpoint, deletedAt: null }),
        html`${when(endpoint.createdAt)}`,
      ]),
      t,
    )}
    <h2>${t('account.newest-events')}</h2>
    ${table(
      t('events'),
      [t('column.event'), t('column.type'), t('column.accepted')],
      events.map((event) => [
        link('events', event.id),
        html`<code>${event.type}</code>`,
        html`${when(event.createdAt)}`,
      ]),
      t,
    )}
    ${commands(t, [`account ${accountId}`])}`
  return adminPage(t, { title: t('account'), body, query: accountId })
}
