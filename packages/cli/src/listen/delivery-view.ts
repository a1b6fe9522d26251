import type { Paint } from '../output/style.js'
import { printable, printableJson } from '../output/text.js'
import type { Inspected } from './inspect.js'

type Options = {
  isRepeated: boolean
  /** Shows whole payloads, no matter how long. */
  full: boolean
}

const SHOWN_LINES = 40

/** One line that says what arrived and whether it is authentic, then the payload. */
export function deliveryText(
  { receivedAt, verification, claimedType, deliveryId, eventId, payload }: Inspected,
  { isRepeated, full }: Options,
  paint: Paint,
): string {
  const marks = {
    verified: paint('green', '✓ verified'),
    unchecked: paint('yellow', '? not verified'),
  }
  const mark =
    verification === 'verified' || verification === 'unchecked'
      ? marks[verification]
      : paint('red', `✗ refused: ${verification}`)
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

/** The same as JSON. `payload` is the body; `verified` is null if there was no secret to check with. */
export function deliveryJson(
  { receivedAt, verification, claimedType, deliveryId, payload }: Inspected,
  isRepeated: boolean,
) {
  return {
    kind: 'delivery',
    received_at: receivedAt.toISOString(),
    verified: verification === 'unchecked' ? null : verification === 'verified',
    ...(verification === 'verified' || verification === 'unchecked' ? {} : { reason: verification }),
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
