import { facts, hourlyPlot, html, time, type Page } from '@signet/pages'
import { endpointStatus } from '@signet/webhook-core'
import type { EndpointDetail } from '../admin-service.js'
import { adminPage } from './admin-page.js'
import { commands, deliveryTable, endpointState, link, urlOf } from './show.js'

/** One endpoint: how it does, and its newest deliveries. */
export function endpointPage({ endpoint, health, deliveries }: EndpointDetail): Page {
  const body = html`<p>${urlOf(endpoint)}</p>
    ${facts([
      ['', endpointState(endpoint)],
      ['Failing since', time(endpoint.failingSince)],
      ['Disabled by', endpoint.disabledReason && html`<code>${endpoint.disabledReason}</code>`],
      ['Account', link('accounts', endpoint.accountId)],
      ['Events', html`<code>${endpoint.events.join(', ') || 'none'}</code>`],
      ['Created', time(endpoint.createdAt)],
    ])}
    <h2>Last 24 hours</h2>
    ${
      health === undefined
        ? html`<p class="soft">Nothing was sent.</p>`
        : html`${facts([
            [health.isPartial ? 'Delivered, of the newest' : 'Delivered', health.delivered],
            ['Failed', health.failed],
            ['Pending', health.pending],
            ['Half within', health.p50 === null ? null : `${Math.round(health.p50)} ms`],
            ['95% within', health.p95 === null ? null : `${Math.round(health.p95)} ms`],
          ])}
          ${hourlyPlot(health)}`
    }
    <h2>Newest deliveries</h2>
    ${deliveryTable(deliveries, 'event')} ${commands(commandsFor(endpoint))}`
  return adminPage({ title: `Endpoint ${endpoint.id}`, body, query: endpoint.id })
}

const commandsFor = ({ id, status, deletedAt }: EndpointDetail['endpoint']): string[] => [
  ...(status === endpointStatus.disabled && !deletedAt ? [`enable --endpoint ${id} --why "…"`] : []),
  `requeue --endpoint ${id} --since 6h --dry-run`,
  `requeue --endpoint ${id} --since 6h --why "…"`,
]
