import type { Command } from 'commander'
import type { DeliveryAttempt, DeliveryDetail } from '../api/types.js'
import type { Context } from '../command/context.js'
import { defineCommand, parseId, run } from '../command/define.js'
import type { Host } from '../command/host.js'
import { renderFields, renderTable, type Column } from '../output/table.js'
import type { Paint } from '../output/style.js'
import { printable, readableTime } from '../output/text.js'
import { signedInApi } from '../session/active-token.js'
import { deliveryStatus } from '../webhooks/webhook-view.js'

const ATTEMPT_COLUMNS: readonly Column<DeliveryAttempt>[] = [
  { header: 'ATTEMPT', value: ({ number }) => number },
  { header: 'STARTED', value: ({ started_at }) => readableTime(started_at) },
  { header: 'RESULT', value: result },
  { header: 'MS', value: ({ duration_ms }) => duration_ms },
  { header: 'OF WHICH', value: phases },
  { header: 'PEER', value: ({ peer_address }) => peer_address || '-' },
]

export function showCommand(group: Command, host: Host): void {
  defineCommand(group, 'show', 'show a delivery with every attempt, and how the responses began', {
    examples: ['signet deliveries show 42 981'],
  })
    .argument('<webhook>', 'id of the webhook', parseId)
    .argument('<delivery>', 'id of the delivery', parseId)
    .action(run<object>(host, show))
}

async function show(context: Context, _options: object, webhook = '', id = ''): Promise<void> {
  const delivery = await (await signedInApi(context)).getDelivery(webhook, id)
  context.output.result(delivery, (paint) => text(delivery, paint))
}

function text(delivery: DeliveryDetail, paint: Paint): string {
  const { attempt_log: attempts } = delivery
  const fields: (readonly [string, string])[] = [
    ['ID', delivery.id],
    ['Event', `${delivery.event_type}  ${delivery.event_id}`],
    ['Status', deliveryStatus(delivery.status).word],
    ['Created', readableTime(delivery.created_at)],
    ...(delivery.delivered_at ? [['Delivered', readableTime(delivery.delivered_at)] as const] : []),
    ...(delivery.next_attempt_at ? [['Next attempt', readableTime(delivery.next_attempt_at)] as const] : []),
  ]
  const answers = attempts.flatMap(({ number, answer }) =>
    answer === '' ? [] : [`${paint('bold', `Response to attempt ${number}`)}\n${printable(answer)}`],
  )
  return [
    renderFields(fields, paint),
    ...(attempts.length > 0 ? [renderTable(ATTEMPT_COLUMNS, attempts, { paint })] : []),
    ...answers,
  ].join('\n\n')
}

function result({ http_status, error, tls_problem }: DeliveryAttempt): string {
  return tls_problem ?? (error || `http_${http_status}`)
}

function phases({ phases }: DeliveryAttempt): string {
  const shown = Object.entries(phases).map(
    ([name, ms]) => `${name.replace(/_ms$/, '').replace('_', ' ')} ${ms}`,
  )
  return shown.join(', ') || '-'
}
