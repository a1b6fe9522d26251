import type { Command } from 'commander'
import type { Context } from '../command/context.js'
import { defineCommand, parseId, run } from '../command/define.js'
import type { Host } from '../command/host.js'
import { signedInApi } from '../session/active-token.js'
import { deliveryStatus } from '../webhooks/webhook-view.js'

export function replayCommand(group: Command, host: Host): void {
  defineCommand(group, 'replay', 'send the event of a delivery again: the same event id, a new delivery', {
    examples: ['signet deliveries replay 42 981'],
  })
    .argument('<webhook>', 'id of the webhook', parseId)
    .argument('<delivery>', 'id of the delivery', parseId)
    .action(run<object>(host, replay))
}

async function replay(context: Context, _options: object, webhook = '', id = ''): Promise<void> {
  const delivery = await (await signedInApi(context)).replayDelivery(webhook, id)
  context.output.fields(delivery, [
    ['ID', delivery.id],
    ['Event', delivery.event_id],
    ['Status', deliveryStatus(delivery.status).word],
  ])
  context.output.note(`To follow it: signet deliveries show ${webhook} ${delivery.id}`)
}
