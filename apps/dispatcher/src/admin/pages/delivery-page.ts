import { facts, html, time, type Page } from '@signet/pages'
import { deliveryStatus, endpointStatus } from '@signet/webhook-core'
import type { Inspected } from '../../operations/operations.js'
import { isInFirstAttempt } from '../../operations/reading.js'
import { adminPage } from './admin-page.js'
import { attemptsView } from './attempts-view.js'
import { commands, endpointState, link, statusOf, urlOf } from './show.js'

/** What happened to one delivery, and what to do about it. */
export function deliveryPage({ delivery, attempts, job }: Inspected): Page {
  const { event, endpoint, others } = delivery
  const body = html`${facts([
      ['Status', statusOf(delivery)],
      ['Last failure', delivery.lastError && html`<code>${delivery.lastError}</code>`],
      ['Attempts', delivery.attempts],
      ['Replay', delivery.replay || null],
      ['Created', time(delivery.createdAt)],
      ['Delivered', time(delivery.deliveredAt)],
      ['Next attempt', time(delivery.nextAttemptAt)],
      [
        isInFirstAttempt(delivery) ? 'Job of its event' : 'Job',
        delivery.status === deliveryStatus.pending ? job : null,
      ],
    ])}
    ${facts([
      ['Event', link('events', event.id)],
      ['Type', html`<code>${event.type}</code>`],
      ['State', event.state],
    ])}
    ${facts([
      ['Endpoint', link('endpoints', endpoint.id)],
      ['', urlOf(endpoint)],
      ['', endpointState(endpoint)],
      ['Account', link('accounts', endpoint.accountId)],
    ])}
    ${others.map(
      (other) =>
        html`<p>
          Also delivery ${link('deliveries', other.id)},
          ${other.replay === 0 ? 'the original' : `replay ${other.replay}`}: ${statusOf(other)}
        </p>`,
    )}
    <h2>Attempts</h2>
    ${attemptsView(attempts)} ${commands(commandsFor(delivery))}`
  return adminPage({ title: `Delivery ${delivery.id}`, body, query: delivery.id })
}

const commandsFor = ({ id, status, endpoint }: Inspected['delivery']): string[] => [
  `inspect ${id}`,
  ...(endpoint.status === endpointStatus.disabled && !endpoint.deletedAt
    ? [`enable --endpoint ${endpoint.id} --why "…"`]
    : []),
  ...(status === deliveryStatus.pending ? [] : [`requeue ${id} --why "…"`]),
]
