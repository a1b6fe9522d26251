import { setTimeout as wait } from 'node:timers/promises'
import type { Delivery } from '../api/types.js'
import type { Context } from '../command/context.js'
import { NetworkError, ServerFailureError } from '../errors.js'
import { printable, readableTime } from '../output/text.js'
import { deliveryStatus } from '../webhooks/webhook-view.js'

const INTERVAL_MS = 2000

/**
 * Prints deliveries as they appear and as they change, until it is interrupted. Looks again every two seconds, which is a
 * twentieth of what the service allows. An outage that comes later is said once and waited for.
 */
export async function watchDeliveries(
  { output, interruption }: Context,
  load: () => Promise<Delivery[]>,
): Promise<void> {
  const interrupted = interruption()
  const known = new Map<string, string>()
  const show = (deliveries: readonly Delivery[]) => {
    for (const delivery of deliveries.toReversed()) {
      const state = stateOf(delivery)
      if (known.get(delivery.id) === state) continue
      known.set(delivery.id, state)
      output.streamed(delivery, (paint) => {
        const { word, colour } = deliveryStatus(delivery.status)
        const { id, event_type, event_id, attempts, last_error, created_at } = delivery
        const heading = [readableTime(created_at), id, event_type, event_id].map(printable).join('  ')
        const tries = `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`
        const failure = last_error === '' ? '' : `  ${printable(last_error)}`
        return `${heading}  ${paint(colour, word)}  ${tries}${failure}`
      })
    }
  }
  show(await load())
  output.note('Waiting for more. Ctrl-C ends it.')
  let isAway = false
  while (!interrupted.aborted) {
    await wait(INTERVAL_MS, undefined, { signal: interrupted }).catch(() => undefined)
    if (interrupted.aborted) return
    try {
      show(await load())
      isAway = false
    } catch (error) {
      if (!(error instanceof NetworkError || error instanceof ServerFailureError)) throw error
      if (!isAway) output.warn(`${error.message}. Trying again.`)
      isAway = true
    }
  }
}

const stateOf = ({ status, attempts, last_error }: Delivery): string => `${status} ${attempts} ${last_error}`
