import type { Command } from 'commander'
import type { Context } from '../command/context.js'
import { defineCommand, integerOption, parseId, run } from '../command/define.js'
import type { Host } from '../command/host.js'
import { readableTime } from '../output/text.js'
import { signedInApi } from '../session/active-token.js'
import { webhookFields } from './webhook-view.js'

type RotateOptions = { activateAfterHours?: number }

/** Commands to replace a signing secret without losing an event: make the next one, let receivers accept both, activate it. */
export function secretCommands(group: Command, host: Host): void {
  defineCommand(group, 'rotate', 'make the next signing secret and print it, once', {
    examples: ['signet webhooks rotate 42', 'signet webhooks rotate 42 --activate-after-hours 72'],
  })
    .argument('<id>', 'id of the webhook', parseId)
    .addOption(
      integerOption(
        '--activate-after-hours <hours>',
        'hours until it takes over by itself: 1 to 720, or 0 for at once (default 24)',
        0,
        720,
      ),
    )
    .action(run<RotateOptions>(host, rotate))

  defineCommand(group, 'activate', 'let the next signing secret take over now', {
    examples: ['signet webhooks activate 42'],
  })
    .argument('<id>', 'id of the webhook', parseId)
    .action(run<object>(host, activate))

  defineCommand(group, 'cancel', 'discard the next signing secret and keep the current one', {
    examples: ['signet webhooks cancel 42'],
  })
    .argument('<id>', 'id of the webhook', parseId)
    .action(run<object>(host, cancel))
}

async function rotate(
  context: Context,
  { activateAfterHours: hours }: RotateOptions,
  id = '',
): Promise<void> {
  const next = await (await signedInApi(context)).rotateSecret(id, hours)
  const { endpoint_id, secret, secret_activates_at: activatesAt } = next
  const isWaiting = activatesAt !== ''
  context.output.fields(next, [
    ['ID', endpoint_id],
    ['Next secret', secret],
    ['Active from', isWaiting ? readableTime(activatesAt) : 'now'],
  ])
  context.output.note('Keep the secret: it is not shown again.')
  context.output.note(
    isWaiting
      ? `Let your receivers accept both, then: signet webhooks activate ${id}`
      : 'Deliveries are signed with it alone from now on.',
  )
}

async function activate(context: Context, _options: object, id = ''): Promise<void> {
  const webhook = await (await signedInApi(context)).changeSecret(id, 'activate')
  context.output.fields(webhook, webhookFields(webhook))
  context.output.note('Deliveries are signed with the new secret alone from now on.')
}

async function cancel(context: Context, _options: object, id = ''): Promise<void> {
  const webhook = await (await signedInApi(context)).changeSecret(id, 'cancel')
  context.output.fields(webhook, webhookFields(webhook))
  context.output.note('The next secret was discarded; deliveries are still signed with the current one.')
}
