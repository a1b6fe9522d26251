import { createHmac, timingSafeEqual } from 'node:crypto'
import { parseDeliveryId, type SecretBox } from '@signet/webhook-core'
import { RuleError } from '../errors/rule-error.js'
import type { DeliveryFilter, LogKey, LogOwner } from './delivery-row.js'

const MAC_BYTES = 16
const PURPOSE = 'delivery-cursor'

/**
 * Cursors of the delivery log: a position, and a MAC that ties it to the account, the endpoint and the filter. A caller can neither
 * make a cursor nor use it elsewhere.
 */
export class DeliveryCursors {
  readonly #keys: readonly Buffer[]

  constructor(secretBox: Pick<SecretBox, 'derive'>) {
    this.#keys = secretBox.derive(PURPOSE)
  }

  write(owner: LogOwner, filter: DeliveryFilter, { createdAt, id }: LogKey): string {
    const place = Buffer.from(`${id} ${createdAt}`)
    const [key] = this.#keys
    if (!key) throw new Error('no key')
    return Buffer.concat([macOf(key, owner, filter, place), place]).toString('base64url')
  }

  /** Throws `bad_request` for anything that `write` did not create for this owner and filter. */
  read(owner: LogOwner, filter: DeliveryFilter, cursor: string): LogKey {
    const bytes = Buffer.from(cursor, 'base64url')
    const [mac, place] = [bytes.subarray(0, MAC_BYTES), bytes.subarray(MAC_BYTES)]
    const isOurs = this.#keys.some((key) => {
      const right = macOf(key, owner, filter, place)
      return mac.length === right.length && timingSafeEqual(mac, right)
    })
    const text = place.toString()
    const gap = text.indexOf(' ')
    const id = parseDeliveryId(text.slice(0, gap))
    // Decoding skips characters that are not base64url, so this accepts only exactly the text that was handed out.
    if (!isOurs || id === null || bytes.toString('base64url') !== cursor) throw new RuleError('filter.cursor')
    return { id, createdAt: text.slice(gap + 1) }
  }
}

function macOf(
  key: Buffer,
  { accountId, endpointId }: LogOwner,
  filter: DeliveryFilter,
  place: Buffer,
): Buffer {
  const { status, eventType, eventId, since, until } = filter
  const context = [accountId, endpointId, status, eventType, eventId, since, until]
  return createHmac('sha256', key)
    .update(`${JSON.stringify(context.map((part) => part ?? null))}\n`)
    .update(place)
    .digest()
    .subarray(0, MAC_BYTES)
}
