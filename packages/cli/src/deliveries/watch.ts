import type { Delivery } from '../api/types.js'
import type { Context } from '../command/context.js'
import type { Paint } from '../output/style.js'
import { printable, readableTime } from '../output/text.js'
import { deliveryStatus } from '../webhooks/webhook-view.js'
import { DeliveryFeed, type Source } from './delivery-feed.js'
import { poll } from './poll.js'

/** Prints deliveries as they appear and change, oldest first, until the user interrupts. */
export function watchDeliveries(context: Context, source: Source): Promise<void> {
  const feed = new DeliveryFeed(source)
  return poll(context, {
    load: () => feed.next(),
    show({ news, isCut }) {
      if (isCut)
        context.output.warn('There are more new deliveries than can be read at once. --all shows every one.')
      for (const delivery of news.toReversed())
        context.output.streamed(delivery, (paint) => lineOf(delivery, paint))
      return { over: false }
    },
  })
}

function lineOf(delivery: Delivery, paint: Paint): string {
  const { id, event_type, event_id, attempts, last_error, created_at } = delivery
  const { word, color } = deliveryStatus(delivery.status)
  const heading = [readableTime(created_at), id, event_type, event_id].map(printable).join('  ')
  const tries = `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`
  const failure = last_error === '' ? '' : `  ${printable(last_error)}`
  return `${heading}  ${paint(color, word)}  ${tries}${failure}`
}
