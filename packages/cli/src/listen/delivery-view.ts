import type { Paint } from '../output/style.js'
import { printable, printableJson } from '../output/text.js'
import type { Inspected } from './inspect.js'

type Options = {
  isRepeated: boolean
  /** Show whole payloads, however long. */
  full: boolean
}

const SHOWN_LINES = 40

/** One line that says what came and whether it is authentic, then the payload. */
export function deliveryText(
  { receivedAt, verdict, claimedType, deliveryId, eventId, payload }: Inspected,
  { isRepeated, full }: Options,
  paint: Paint,
): string {
  const marks = {
    verified: paint('green', '✓ verified'),
    unchecked: paint('yellow', '? not verified'),
  }
  const mark =
    verdict === 'verified' || verdict === 'unchecked' ? marks[verdict] : paint('red', `✗ refused: ${verdict}`)
  const heading = [
    paint('dim', receivedAt.toISOString()),
    mark,
    paint('bold', printable(claimedType || 'unknown type')),
    printable(eventId ?? 'no event id'),
    paint('dim', `delivery ${printable(deliveryId || 'unknown')}`),
    ...(isRepeated ? [paint('yellow', '(this event came before)')] : []),
  ].join('  ')
  return `${heading}\n${shortened(printableJson(payload, 2), full, paint)}\n`
}

/** The same for programs. `payload` is the body; `verified` is null when there was no secret to check with. */
export function deliveryJson(
  { receivedAt, verdict, claimedType, deliveryId, payload }: Inspected,
  isRepeated: boolean,
) {
  return {
    kind: 'delivery',
    received_at: receivedAt.toISOString(),
    verified: verdict === 'unchecked' ? null : verdict === 'verified',
    ...(verdict === 'verified' || verdict === 'unchecked' ? {} : { reason: verdict }),
    event_type: claimedType,
    delivery_id: deliveryId,
    repeated: isRepeated,
    payload,
  }
}

function shortened(text: string, full: boolean, paint: Paint): string {
  const lines = text.split('\n')
  if (full || lines.length <= SHOWN_LINES) return text
  const rest = paint('dim', `… ${lines.length - SHOWN_LINES} more lines; --full shows them`)
  return [...lines.slice(0, SHOWN_LINES), rest].join('\n')
}
