import type { Command } from 'commander'
import type { Context } from '../command/context.js'
import { defineCommand, integerOption, parseId, run } from '../command/define.js'
import type { Host } from '../command/host.js'
import { signedInApi } from '../session/active-token.js'
import { DELIVERY_COLUMNS } from '../webhooks/webhook-view.js'
import { watchDeliveries } from './watch.js'

type ListOptions = { page?: number; pageSize?: number; watch?: boolean }

export function deliveryCommands(parent: Command, host: Host): void {
  const group = parent.command('deliveries').description('see what became of events')

  defineCommand(group, 'list', 'show the delivery log of a webhook, newest first', {
    examples: ['signet deliveries list 42 --page 2 --page-size 50', 'signet deliveries list 42 --watch'],
  })
    .argument('<webhook>', 'id of the webhook', parseId)
    .addOption(integerOption('--page <number>', 'page, from 1', 1, 999_999).conflicts('watch'))
    .addOption(integerOption('--page-size <number>', 'deliveries per page (default 20)', 1, 100))
    .option('--watch', 'go on and print each delivery that is new or has changed, oldest first')
    .action(run<ListOptions>(host, list))
}

async function list(context: Context, { page, pageSize, watch }: ListOptions, id = ''): Promise<void> {
  const api = await signedInApi(context)
  const size = pageSize === undefined ? {} : { page_size: String(pageSize) }
  if (watch) return watchDeliveries(context, () => api.listDeliveries(id, size))
  const items = await api.listDeliveries(id, {
    ...(page === undefined ? {} : { page: String(page) }),
    ...size,
  })
  context.output.list(items, DELIVERY_COLUMNS, 'There are no deliveries on this page of the log.')
}
