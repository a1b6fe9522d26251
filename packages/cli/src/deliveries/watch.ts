import type { Delivery } from '../api/types.js'
import type { Context } from '../command/context.js'
import type { Paint } from '../output/style.js'
import { printable, readableTime } from '../output/text.js'
import { deliveryStatus } from '../webhooks/webhook-view.js'
import { poll } from './poll.js'

/** Prints deliveries as they appear and as they change, oldest first, until it is interrupted. */
export function watchDeliveries(context: Context, load: () => Promise<Delivery[]>): Promise<void> {
  const known = new Map<string, string>()
  return poll(context, {
    load,
    show(deliveries) {
      for (const delivery of deliveries.toReversed()) {
        const state = stateOf(delivery)
        if (known.get(delivery.id) === state) continue
        known.set(delivery.id, state)
        context.output.streamed(delivery, (paint) => lineOf(delivery, paint))
      }
      return { over: false }
    },
  })
}

const stateOf = ({ status, attempts, last_error }: Delivery): string => `${status} ${attempts} ${last_error}`

function lineOf(delivery: Delivery, paint: Paint): string {
  const { id, event_type, event_id, attempts, last_error, created_at } = delivery
  const { word, colour } = deliveryStatus(delivery.status)
  const heading = [readableTime(created_at), id, event_type, event_id].map(printable).join('  ')
  const tries = `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`
  const failure = last_error === '' ? '' : `  ${printable(last_error)}`
  return `${heading}  ${paint(colour, word)}  ${tries}${failure}`
}
