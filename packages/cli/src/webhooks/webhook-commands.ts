import type { Command } from 'commander'
import type { Context } from '../command/context.js'
import { defineCommand, integerOption, parseId, run } from '../command/define.js'
import type { Host } from '../command/host.js'
import { printable } from '../output/text.js'
import { signedInApi } from '../session/active-token.js'
import { changeCommands } from './change-commands.js'
import { DELIVERY_COLUMNS, WEBHOOK_COLUMNS } from './webhook-view.js'

type PageOptions = { page?: number; pageSize?: number }

export function webhookCommands(parent: Command, host: Host): void {
  const group = parent.command('webhooks').description('manage webhooks and see their deliveries')

  defineCommand(group, 'list', 'list the webhooks of the account').action(run(host, list))

  changeCommands(group, host)

  defineCommand(group, 'test', 'send a signed test event to a webhook')
    .argument('<id>', 'id of the webhook', parseId)
    .action(run<object>(host, sendTest))

  defineCommand(group, 'deliveries', 'show the delivery log of a webhook, newest first')
    .argument('<id>', 'id of the webhook', parseId)
    .addOption(integerOption('--page <number>', 'page, from 1', 1, 999_999))
    .addOption(integerOption('--page-size <number>', 'deliveries per page (default 20)', 1, 100))
    .action(run<PageOptions>(host, deliveries))
}

async function list(context: Context): Promise<void> {
  const webhooks = await (await signedInApi(context)).listWebhooks()
  context.output.list(webhooks, WEBHOOK_COLUMNS, 'There are no webhooks. `signet webhooks create` makes one.')
}

async function sendTest(context: Context, _options: object, id = ''): Promise<void> {
  const sent = await (await signedInApi(context)).sendTestEvent(id)
  context.output.result(
    sent,
    () => `Test event ${printable(sent.event_id)} is ${sent.queued ? 'queued' : 'not queued'}.`,
  )
  context.output.note(
    sent.queued
      ? `See what became of it: signet webhooks deliveries ${id}`
      : `The webhook is disabled. A new address makes it active: signet webhooks update ${id} --url <address>`,
  )
}

async function deliveries(context: Context, { page, pageSize }: PageOptions, id = ''): Promise<void> {
  const items = await (
    await signedInApi(context)
  ).listDeliveries(id, {
    ...(page === undefined ? {} : { page: String(page) }),
    ...(pageSize === undefined ? {} : { page_size: String(pageSize) }),
  })
  context.output.list(items, DELIVERY_COLUMNS, 'There are no deliveries on this page of the log.')
}
