import { facts, html, time, type Page } from '@signet/pages'
import { deliveryStatus, endpointStatus } from '@signet/webhook-core'
import type { Inspected } from '../../operations/operations.js'
import { isInFirstAttempt } from '../../operations/reading.js'
import { adminPage } from './admin-page.js'
import { attemptsView } from './attempts-view.js'
import { commands, endpointState, link, statusOf, urlOf } from './show.js'
import type { AdminTexts } from './texts.js'

/** What happened to one delivery, and what to do about it. */
export function deliveryPage(t: AdminTexts, { delivery, attempts, job }: Inspected): Page {
  const { event, endpoint, others } = delivery
  const body = html`${facts([
      [t('column.status'), statusOf(t, delivery)],
      [t('column.last-failure'), delivery.lastError && html`<code>${delivery.lastError}</code>`],
      [t('attempts'), delivery.attempts],
      [t('delivery.replay-label'), delivery.replay || null],
      [t('column.created'), time(delivery.createdAt, t.language)],
      [t('delivery.delivered-at'), time(delivery.deliveredAt, t.language)],
      [t('column.next-attempt'), time(delivery.nextAttemptAt, t.language)],
      [
        t(isInFirstAttempt(delivery) ? 'delivery.job-of-event' : 'delivery.job'),
        delivery.status === deliveryStatus.pending ? job : null,
      ],
    ])}
    ${facts([
      [t('event'), link('events', event.id)],
      [t('column.type'), html`<code>${event.type}</code>`],
      [t('column.state'), event.state],
    ])}
    ${facts([
      [t('column.endpoint'), link('endpoints', endpoint.id)],
      ['', urlOf(endpoint)],
      ['', endpointState(t, endpoint)],
      [t('account'), link('accounts', endpoint.accountId)],
    ])}
    ${others.map(
      (other) =>
        html`<p>
          ${t.html('delivery.also', {
            link: link('deliveries', other.id),
            what:
              other.replay === 0 ? t('delivery.original') : t('delivery.replay', { number: other.replay }),
            status: statusOf(t, other),
          })}
        </p>`,
    )}
    <h2>${t('attempts')}</h2>
    ${attemptsView(t, attempts)} ${commands(t, commandsFor(delivery))}`
  return adminPage(t, { title: t('delivery', { id: delivery.id }), body, query: delivery.id })
}

const commandsFor = ({ id, status, endpoint }: Inspected['delivery']): string[] => [
  `inspect ${id}`,
  ...(endpoint.status === endpointStatus.disabled && !endpoint.deletedAt
    ? [`enable --endpoint ${endpoint.id} --why "…"`]
    : []),
  ...(status === deliveryStatus.pending ? [] : [`requeue ${id} --why "…"`]),
]
