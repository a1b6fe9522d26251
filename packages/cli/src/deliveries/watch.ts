import type { Delivery } from '../api/types.js'
import type { Context } from '../command/context.js'
import type { Paint } from '../output/style.js'
import { printable, readableTime } from '../output/text.js'
import { deliveryStatus, PENDING } from '../webhooks/webhook-view.js'
import { poll } from './poll.js'

type Page = { items: readonly Delivery[]; next_cursor: string }
type Read = (more: { cursor?: string; page_size?: string }) => Promise<Page>
type Known = { state: string; createdAt: string; isOpen: boolean }

/** A delivery is in the log once it has been written, which may be after newer ones. */
const LATE_MS = 60_000
const MAX_PAGES = 50

/**
 * Prints deliveries as they appear and as they change, oldest first, until it is interrupted. The first look is one page; each later
 * one reads back to the oldest that may still change.
 */
export function watchDeliveries(context: Context, read: Read): Promise<void> {
  const known = new Map<string, Known>()
  let looks = 0
  return poll(context, {
    load: async () => {
      const found = looks === 0 ? (await read({})).items : await readBack(known, read)
      looks += 1
      return found
    },
    show(deliveries) {
      for (const delivery of deliveries.toReversed()) {
        const state = stateOf(delivery)
        const isNews = known.get(delivery.id)?.state !== state
        known.set(delivery.id, { state, createdAt: delivery.created_at, isOpen: delivery.status === PENDING })
        if (isNews) context.output.streamed(delivery, (paint) => lineOf(delivery, paint))
      }
      return { over: false }
    },
  })
}

async function readBack(known: Map<string, Known>, read: Read): Promise<Delivery[]> {
  const newest = Math.max(...[...known.values()].map(({ createdAt }) => Date.parse(createdAt)))
  const open = [...known.values()]
    .filter(({ isOpen }) => isOpen)
    .map(({ createdAt }) => Date.parse(createdAt))
  const until = Math.min(newest - LATE_MS, ...open)
  const found: Delivery[] = []
  let cursor = ''
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const { items, next_cursor } = await read({ page_size: '100', ...(cursor === '' ? {} : { cursor }) })
    found.push(...items)
    const last = items.at(-1)
    if (next_cursor === '' || last === undefined || Date.parse(last.created_at) < until) break
    cursor = next_cursor
  }
  forget(known, found, until)
  return found
}

/** What is not in the log any more was deleted, or a filter leaves it out now: nothing of it is to be waited for. */
function forget(known: Map<string, Known>, found: readonly Delivery[], until: number): void {
  const seen = new Set(found.map(({ id }) => id))
  for (const [id, { createdAt, isOpen }] of known)
    if (!seen.has(id) && (isOpen || Date.parse(createdAt) < until)) known.delete(id)
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
