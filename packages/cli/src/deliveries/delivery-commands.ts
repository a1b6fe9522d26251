import type { Command } from 'commander'
import { everyPage } from '../api/every-page.js'
import type { DeliveryQuery } from '../api/types.js'
import type { Context } from '../command/context.js'
import { defineCommand, defineGroup, integerOption, parseId, run } from '../command/define.js'
import type { Host } from '../command/host.js'
import { signedInApi } from '../session/active-token.js'
import { DELIVERY_COLUMNS } from '../webhooks/webhook-view.js'
import { filterOptions, queryOf, type FilterOptions } from './delivery-filter.js'
import { replayCommand } from './replay-command.js'
import { showCommand } from './show-command.js'
import { watchDeliveries } from './watch.js'

type ListOptions = FilterOptions & { page?: number; pageSize?: number; all?: boolean; watch?: boolean }

const FILTERS = ['status', 'eventType', 'eventId', 'since', 'until']

export function deliveryCommands(parent: Command, host: Host): void {
  const group = defineGroup(parent, 'deliveries', 'show which events were delivered, and send them again', [
    'signet deliveries list 42 --status failed',
    'signet deliveries show 42 981',
    'signet deliveries replay 42 981',
  ])

  const list = defineCommand(group, 'list', 'show the delivery log of a webhook, newest first', {
    examples: [
      'signet deliveries list 42 --page 2 --page-size 50',
      'signet deliveries list 42 --status failed --since 7d --all',
      'signet deliveries list 42 --watch',
    ],
  }).argument('<webhook>', 'id of the webhook', parseId)
  filterOptions(list)
    .addOption(
      integerOption('--page <number>', 'page, from 1; not with filters', 1, 999_999).conflicts([
        ...FILTERS,
        'all',
        'watch',
      ]),
    )
    .addOption(integerOption('--page-size <number>', 'deliveries per page (default 20)', 1, 100))
    .option('--all', 'every page')
    .option('--watch', 'keep running and print each delivery that is new or has changed, oldest first')
    .action(run<ListOptions>(host, show))

  showCommand(group, host)
  replayCommand(group, host)
}

async function show(context: Context, options: ListOptions, id = ''): Promise<void> {
  const { page, pageSize, all, watch } = options
  const api = await signedInApi(context)
  const query: DeliveryQuery = {
    ...(page === undefined ? {} : { page: String(page) }),
    ...(pageSize === undefined ? {} : { page_size: String(pageSize) }),
    ...queryOf(options),
  }
  if (watch)
    return watchDeliveries(context, {
      query,
      list: (wanted) => api.listDeliveries(id, wanted),
      get: (one) => api.getDelivery(id, one),
    })
  if (all) {
    const items = await everyPage(context, (cursor) =>
      api.listDeliveries(id, { page_size: '100', ...query, ...(cursor !== undefined && { cursor }) }),
    )
    return context.output.list(items, DELIVERY_COLUMNS, 'There are no such deliveries.')
  }
  const { items, next_cursor: next } = await api.listDeliveries(id, query)
  context.output.list(items, DELIVERY_COLUMNS, 'There are no deliveries on this page of the log.')
  if (next === '') return
  context.output.note(
    `There are more: ${page === undefined ? '--all shows every page' : `--page ${page + 1} shows the next`}.`,
  )
}
