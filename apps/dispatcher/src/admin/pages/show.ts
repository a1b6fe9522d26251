import { html, table, time, type Html } from '@signet/pages'
import { deliveryStatus, endpointStatus, type DeliveryStatus } from '@signet/webhook-core'
import { withoutQuery } from '../../operations/reading.js'
import type { DeliveryLine, EndpointReport } from '../admin-store.js'
import { ADMIN_PATH } from './admin-page.js'
import type { AdminTexts } from './texts.js'

/** Short units, the same in both languages. */
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

const STATUS = {
  [deliveryStatus.pending]: 'status.pending',
  [deliveryStatus.delivered]: 'status.delivered',
  [deliveryStatus.failed]: 'status.failed',
} as const satisfies Record<DeliveryStatus, string>

export const statusOf = (t: AdminTexts, { status }: { status: DeliveryStatus }): Html =>
  status === deliveryStatus.failed
    ? html`<strong class="bad">${t(STATUS[status])}</strong>`
    : html`${t(STATUS[status])}`

const bad = (inside: Html): Html => html`<strong class="bad">${inside}</strong>`

type EndpointState = Pick<EndpointReport, 'status' | 'consecutiveFailures' | 'disabledAt' | 'deletedAt'>

export function endpointState(
  t: AdminTexts,
  { status, consecutiveFailures, disabledAt, deletedAt }: EndpointState,
): Html {
  const since = (at: Date | null) => time(at, t.language)
  if (deletedAt) return html`${bad(html`${t('endpoint.deleted')}`)} ${since(deletedAt)}`
  if (status === endpointStatus.disabled)
    return html`${bad(html`${t('endpoint.disabled')}`)} ${since(disabledAt)}`
  return consecutiveFailures > 0
    ? t.html('endpoint.failing', { count: consecutiveFailures, strong: bad })
    : html`${t('endpoint.fine')}`
}

export const deliveryTable = (
  t: AdminTexts,
  deliveries: readonly DeliveryLine[],
  other: 'endpoint' | 'event',
): Html =>
  table(
    t('deliveries'),
    [
      t('column.delivery'),
      t(`column.${other}`),
      t('column.status'),
      t('column.attempts'),
      t('column.created'),
      t('column.next-attempt'),
    ],
    deliveries.map((line) => [
      html`${link('deliveries', line.id)} ${line.replay > 0 && t('delivery.replay', { number: line.replay })}`,
      other === 'endpoint'
        ? html`${link('endpoints', line.endpointId)} ${urlOf(line)}`
        : html`${link('events', line.eventId)} ${line.eventType}`,
      html`${statusOf(t, line)}${line.lastError !== '' && html` <code>${line.lastError}</code>`}`,
      html`${line.attempts}`,
      time(line.createdAt, t.language),
      html`${time(line.nextAttemptAt, t.language)}`,
    ]),
    t,
  )

/** Commands that change something ask who and why (infra/decisions/0211-the-admin-pages-only-look.md). */
export const commands = (t: AdminTexts, lines: readonly string[]): Html =>
  html`<h2>${t('commands.title')}</h2>
    <p>${t.html('commands.about')}</p>
    <pre tabindex="0" aria-label="${t('commands')}">${lines.map((line) => `ops ${line}`).join('\n')}</pre>`
