import { html, table, time, type Html } from '@signet/pages'
import { deliveryStatus, endpointStatus, type DeliveryStatus } from '@signet/webhook-core'
import { withoutQuery } from '../../operations/reading.js'
import type { DeliveryLine, EndpointReport } from '../admin-store.js'
import { ADMIN_PATH } from './admin-page.js'

export function duration(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`
  return `${Math.round(seconds / 3600)} h`
}

type Kind = 'events' | 'deliveries' | 'endpoints' | 'accounts'

export const pathOf = (kind: Kind, id: string): string => `${ADMIN_PATH}/${kind}/${id}`

export const link = (kind: Kind, id: string): Html =>
  html`<a href="${pathOf(kind, id)}"><code>${id}</code></a>`

/** The query of a URL stays hidden, because customers put tokens there. */
export const urlOf = ({ url }: { url: string }): string => withoutQuery(url)

const STATUS: Readonly<Record<DeliveryStatus, string>> = {
  [deliveryStatus.pending]: 'Pending',
  [deliveryStatus.delivered]: 'Delivered',
  [deliveryStatus.failed]: 'Failed',
}

export const statusOf = ({ status }: { status: DeliveryStatus }): Html =>
  status === deliveryStatus.failed
    ? html`<strong class="bad">${STATUS[status]}</strong>`
    : html`${STATUS[status]}`

type EndpointState = Pick<EndpointReport, 'status' | 'consecutiveFailures' | 'disabledAt' | 'deletedAt'>

export function endpointState({ status, consecutiveFailures, disabledAt, deletedAt }: EndpointState): Html {
  if (deletedAt) return html`<strong class="bad">Deleted</strong> ${time(deletedAt)}`
  if (status === endpointStatus.disabled)
    return html`<strong class="bad">Disabled</strong> ${time(disabledAt)}`
  if (consecutiveFailures > 0)
    return html`Active,
      <strong class="bad"
        >${consecutiveFailures} ${consecutiveFailures === 1 ? 'failure' : 'failures'} in a row</strong
      >`
  return html`Active, without failures`
}

export const deliveryTable = (deliveries: readonly DeliveryLine[], other: 'endpoint' | 'event'): Html =>
  table(
    'Deliveries',
    [
      'Delivery',
      other === 'endpoint' ? 'Endpoint' : 'Event',
      'Status',
      'Attempts',
      'Created',
      'Next attempt',
    ],
    deliveries.map((line) => [
      html`${link('deliveries', line.id)}${line.replay > 0 && html` replay ${line.replay}`}`,
      other === 'endpoint'
        ? html`${link('endpoints', line.endpointId)} ${urlOf(line)}`
        : html`${link('events', line.eventId)} ${line.eventType}`,
      html`${statusOf(line)}${line.lastError !== '' && html` <code>${line.lastError}</code>`}`,
      html`${line.attempts}`,
      html`${time(line.createdAt)}`,
      html`${time(line.nextAttemptAt)}`,
    ]),
  )

/** Commands that change something ask who and why (infra/decisions/0211-the-admin-pages-only-look.md). */
export const commands = (lines: readonly string[]): Html =>
  html`<h2>What you can do</h2>
    <p>
      With the command of the dispatcher, in its container <code>node dist/main.js ops</code>. Your name and
      the reason are kept with what you change.
    </p>
    <pre tabindex="0" aria-label="Commands">${lines.map((line) => `ops ${line}`).join('\n')}</pre>`
