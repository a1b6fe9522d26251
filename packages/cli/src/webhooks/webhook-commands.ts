import type { Command } from 'commander'
import type { Context } from '../command/context.js'
import { defineCommand, defineGroup, parseId, run } from '../command/define.js'
import type { Host } from '../command/host.js'
import { signedInApi } from '../session/active-token.js'
import { changeCommands } from './change-commands.js'
import { secretCommands } from './secret-commands.js'
import { sendTestEvent } from './test-event.js'
import { WEBHOOK_COLUMNS, webhookFields } from './webhook-view.js'

export function webhookCommands(parent: Command, host: Host): void {
  const group = defineGroup(parent, 'webhooks', 'manage webhooks and their signing secrets', [
    'signet webhooks create --to https://example.com/hook',
    'signet webhooks get 42',
    'signet webhooks rotate 42',
  ])

  defineCommand(group, 'list', 'list the webhooks of the account', {
    examples: ['signet webhooks list', 'signet webhooks list --json'],
  }).action(run(host, list))

  defineCommand(group, 'get', 'show one webhook: since when it fails, and why it was disabled', {
    examples: ['signet webhooks get 42'],
  })
    .argument('<id>', 'id of the webhook', parseId)
    .action(run<object>(host, get))

  changeCommands(group, host)
  secretCommands(group, host)

  defineCommand(group, 'test', 'send a signed test event to a webhook', {
    examples: ['signet webhooks test 42'],
  })
    .argument('<id>', 'id of the webhook', parseId)
    .action(run<object>(host, (context, _options, id = '') => sendTestEvent(context, id)))
}

async function list(context: Context): Promise<void> {
  const webhooks = await (await signedInApi(context)).listWebhooks()
  context.output.list(
    webhooks,
    WEBHOOK_COLUMNS,
    'There are no webhooks. `signet webhooks create --to <address>` makes one.',
  )
}

async function get(context: Context, _options: object, id = ''): Promise<void> {
  const webhook = await (await signedInApi(context)).getWebhook(id)
  context.output.fields(webhook, webhookFields(webhook))
}
