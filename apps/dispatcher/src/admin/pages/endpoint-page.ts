import { facts, hourlyPlot, html, time, type Html, type Page } from '@signet/pages'
import { endpointStatus } from '@signet/webhook-core'
import type { EndpointDetail } from '../admin-service.js'
import { adminPage } from './admin-page.js'
import { commands, deliveryTable, endpointState, link, urlOf } from './show.js'
import type { AdminTexts } from './texts.js'

/** One endpoint: its state and its newest deliveries. */
export function endpointPage(t: AdminTexts, { endpoint, health, deliveries }: EndpointDetail): Page {
  const body = html`<p>${urlOf(endpoint)}</p>
    ${facts([
      ['', endpointState(t, endpoint)],
      [t('endpoint.failing-since'), time(endpoint.failingSince, t.language)],
      [t('endpoint.disabled-by'), endpoint.disabledReason && html`<code>${endpoint.disabledReason}</code>`],
      [t('account'), link('accounts', endpoint.accountId)],
      [t('endpoint.events'), html`<code>${endpoint.events.join(', ') || t('endpoint.no-events')}</code>`],
      [t('column.created'), time(endpoint.createdAt, t.language)],
    ])}
    <h2>${t('endpoint.today')}</h2>
    ${health === null ? html`<p class="soft">${t('endpoint.nothing-sent')}</p>` : healthView(t, health)}
    <h2>${t('endpoint.newest')}</h2>
    ${deliveryTable(t, deliveries, 'event')} ${commands(t, commandsFor(endpoint))}`
  return adminPage(t, { title: t('endpoint', { id: endpoint.id }), body, query: endpoint.id })
}

const healthView = (t: AdminTexts, health: NonNullable<EndpointDetail['health']>): Html =>
  html`${facts([
    [t(health.isPartial ? 'endpoint.of-newest' : 'status.delivered'), health.delivered],
    [t('status.failed'), health.failed],
    [t('status.pending'), health.pending],
    [t('endpoint.half-within'), health.p50 === null ? null : `${Math.round(health.p50)} ms`],
    [t('endpoint.most-within'), health.p95 === null ? null : `${Math.round(health.p95)} ms`],
  ])}
  ${hourlyPlot(health, t)}`

const commandsFor = ({ id, status, deletedAt }: EndpointDetail['endpoint']): string[] => [
  ...(status === endpointStatus.disabled && !deletedAt ? [`enable --endpoint ${id} --why "…"`] : []),
  `requeue --endpoint ${id} --since 6h --dry-run`,
  `requeue --endpoint ${id} --since 6h --why "…"`,
]
