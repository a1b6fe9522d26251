import type { Delivery, Webhook } from '../api/types.js'
import type { Color, Paint } from '../output/style.js'
import type { Column } from '../output/table.js'
import { readableTime } from '../output/text.js'

type Word = { word: string; color: Color }

const WEBHOOK_STATUS: Readonly<Record<number, Word>> = {
  1: { word: 'active', color: 'green' },
  2: { word: 'disabled', color: 'red' },
}
/** The status of a delivery that has attempts left. */
export const PENDING = 0
const DELIVERY_STATUS: Readonly<Record<number, Word>> = {
  [PENDING]: { word: 'pending', color: 'yellow' },
  1: { word: 'delivered', color: 'green' },
  2: { word: 'failed', color: 'red' },
}

export const WEBHOOK_COLUMNS: readonly Column<Webhook>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'URL', value: ({ url }) => url, flexible: true },
  { header: 'EVENTS', value: ({ events }) => eventList(events), flexible: true },
  statusColumn(WEBHOOK_STATUS),
  { header: 'FAILURES', value: ({ consecutive_failures }) => consecutive_failures },
  { header: 'UPDATED', value: ({ updated_at }) => readableTime(updated_at) },
]

export const DELIVERY_COLUMNS: readonly Column<Delivery>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'EVENT', value: ({ event_id }) => event_id, flexible: true },
  { header: 'TYPE', value: ({ event_type }) => event_type },
  statusColumn(DELIVERY_STATUS),
  { header: 'ATTEMPTS', value: ({ attempts }) => attempts },
  { header: 'LAST ERROR', value: ({ last_error }) => last_error || '-' },
  { header: 'CREATED', value: ({ created_at }) => readableTime(created_at) },
  { header: 'DELIVERED', value: ({ delivered_at }) => readableTime(delivered_at) },
]

type Shown = Pick<Webhook, 'id' | 'url' | 'events' | 'status'> & Partial<Webhook>

/** The labels and values that describe a webhook. Values that do not apply are left out. */
export function webhookFields(webhook: Shown): (readonly [label: string, value: string])[] {
  const { consecutive_failures: failures, failing_since, disabled_at, disabled_reason } = webhook
  const { secret_activates_at: nextSecret } = webhook
  return [
    ['ID', webhook.id],
    ['URL', webhook.url],
    ['Events', eventList(webhook.events)],
    ['Status', WEBHOOK_STATUS[webhook.status]?.word ?? String(webhook.status)],
    ...(failures ? [['Failures', `${failures} in a row`] as const] : []),
    ...(failing_since ? [['Failing since', readableTime(failing_since)] as const] : []),
    ...(disabled_at ? [['Disabled', `${readableTime(disabled_at)} (${disabled_reason})`] as const] : []),
    ...(nextSecret ? [['Next secret', `active from ${readableTime(nextSecret)}`] as const] : []),
  ]
}

/** Word and color for a delivery's status. A status that this version does not know is shown as its number. */
export const deliveryStatus = (status: number): Word =>
  DELIVERY_STATUS[status] ?? { word: String(status), color: 'dim' }

const eventList = (events: readonly string[]): string => (events.length === 0 ? 'none' : events.join(', '))

/** A status this version does not know is shown as its number. */
function statusColumn<Row extends { status: number }>(words: Readonly<Record<number, Word>>): Column<Row> {
  return {
    header: 'STATUS',
    value: ({ status }) => words[status]?.word ?? status,
    paint: ({ status }: Row, cell: string, paint: Paint) => paint(words[status]?.color ?? 'dim', cell),
  }
}
