import { facts, html, time, type Page } from '@signet/pages'
import type { EventDetail } from '../admin-service.js'
import { SHOWN } from '../shown.js'
import { adminPage } from './admin-page.js'
import { attemptsView } from './attempts-view.js'
import { deliveryTable, link, pathOf, urlOf } from './show.js'
import type { AdminTexts } from './texts.js'

/** Characters of a payload that the page shows. */
const MAX_SHOWN = 50_000

/** Everything that happened to one event. */
export function eventPage(t: AdminTexts, { event, deliveries, attempts, job }: EventDetail): Page {
  const body = html`${facts([
      ['', html`<code>${event.id}</code>`],
      [t('column.type'), html`<code>${event.type}</code>`],
      [t('column.state'), html`<strong>${event.state}</strong>`],
      [t('account'), link('accounts', event.accountId)],
      [t('event.from'), event.source],
      [t('event.only-to'), event.targetEndpointId && link('endpoints', event.targetEndpointId)],
      [t('column.accepted'), time(event.createdAt, t.language)],
      [t('event.dispatched'), time(event.dispatchedAt, t.language)],
      [t('delivery.job'), job],
      [t('event.body'), event.bytes === 0 ? t('event.body.none') : t('bytes', { count: event.bytes })],
      [t('event.unconverted'), event.unconverted],
    ])}
    ${
      event.bytes > 0 &&
      html`<p>
        <a href="${pathOf('events', event.id)}/payload">${t('event.payload')}</a>
        <span class="soft">${t('event.payload.warning')}</span>
      </p>`
    }
    <h2>${t('deliveries')}</h2>
    ${deliveryTable(t, deliveries, 'endpoint')}
    ${deliveries.length === SHOWN && html`<p class="soft">${t('event.more', { count: SHOWN })}</p>`}
    ${deliveries.map(
      (delivery) =>
        html`<section class="entry">
          <h2>${t.html('event.section', { link: link('deliveries', delivery.id), url: urlOf(delivery) })}</h2>
          ${attemptsView(
            t,
            attempts.filter(({ deliveryId }) => deliveryId === delivery.id),
          )}
        </section>`,
    )}`
  return adminPage(t, { title: t('event'), body, query: event.id })
}

export function payloadPage(t: AdminTexts, id: string, payload: string): Page {
  const shown = payload.slice(0, MAX_SHOWN)
  const isCut = shown.length < payload.length
  return adminPage(t, {
    title: t('payload'),
    query: id,
    body: html`<p>${t.html('payload.event', { link: link('events', id) })}</p>
      <pre tabindex="0" aria-label="${t('payload.body')}">${shown}</pre>
      ${isCut && html`<p class="soft">${t('payload.cut', { shown: MAX_SHOWN, count: payload.length })}</p>`}`,
  })
}
