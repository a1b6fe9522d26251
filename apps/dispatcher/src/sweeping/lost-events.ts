import type { Db } from '@signet/db'
import type { EventId } from '@signet/webhook-core'
import type { EventToPublish, WebhookQueues } from '@signet/webhook-core/queue'
import {
  concludeFirstAttempts,
  findOpenAmong,
  findOpenFirstAttempts,
  type OpenFirstAttempts,
} from '../dispatching/first-attempt-store.js'
import { findForgottenEvents, findQueued, type ForgottenEvent } from '../events/event-store.js'
import type { JobPresence } from '../queues/job-presence.js'
import { eachPage, PAGE } from './pages.js'

export type LostEventsDeps = {
  db: Db
  queues: Pick<WebhookQueues, 'addEvents'>
  presence: JobPresence
  /** Called when a job was found that is in none of the lists of its queue. */
  onStray: (queue: 'events' | 'deliveries') => void
  /** How many events without a job of their own to collect before all shared jobs are read to look for them. */
  lookedForAtOnce?: number
}

/** About 40 MB. */
const LOOKED_FOR_AT_ONCE = 100_000

/** Young events on which someone may be working: those accepted from `from` until before `to`. */
export type MayBeInWork = { from: Date; to: Date }

/** Adds a job for each undispatched event, accepted before `before`, that has none. */
export function requeueLostEvents(
  deps: LostEventsDeps,
  { before, except }: { before: Date; except: MayBeInWork },
  stop: AbortSignal,
): Promise<number> {
  const { db } = deps
  return requeueMissing<ForgottenEvent>(
    deps,
    (after) => findForgottenEvents(db, { before, except, after, limit: PAGE }),
    (ids) => findQueued(db, ids),
    stop,
  )
}

/** First attempts run under their event's job. Without that job no process is working on them. */
export async function requeueLostFirstAttempts(
  deps: LostEventsDeps,
  before: Date,
  stop: AbortSignal,
): Promise<number> {
  const { db } = deps
  const read = (after?: { id: EventId }) => findOpenFirstAttempts(db, { before, after, limit: PAGE })
  // Some have ended, but their process died before it recorded that. Running their event again would find nothing to do.
  await eachPage<OpenFirstAttempts>(
    read,
    async (page) => {
      const ids = page.map(({ id }) => id)
      await concludeFirstAttempts(db, ids)
      return 0
    },
    stop,
  )
  return requeueMissing<OpenFirstAttempts>(deps, read, (ids) => findOpenAmong(db, ids), stop)
}

/**
 * Adds a job for each event that has none. Jobs of several events are read as a whole, so the events that may be in one are collected
 * first. `findOpen` says which of these have not ended meanwhile.
 */
async function requeueMissing<Row extends EventToPublish>(
  { presence, queues, onStray, lookedForAtOnce = LOOKED_FOR_AT_ONCE }: LostEventsDeps,
  read: (after: Row | undefined) => Promise<Row[]>,
  findOpen: (ids: readonly EventId[]) => Promise<ReadonlySet<EventId>>,
  stop: AbortSignal,
): Promise<number> {
  let lookedFor: Row[] = []
  const requeue = async (): Promise<number> => {
    const missing = await presence.eventsInNoList(lookedFor)
    lookedFor = []
    const open = missing.length === 0 ? null : await findOpen(missing.map(({ id }) => id))
    const lost = missing.filter(({ id }) => open?.has(id))
    for (let from = 0; from < lost.length; from += PAGE) await queues.addEvents(lost.slice(from, from + PAGE))
    return lost.length
  }
  const found = await eachPage<Row>(
    read,
    async (page) => {
      if (await presence.hasStrayEvent(page)) onStray('events')
      lookedFor.push(...(await presence.eventsWithoutOwnJob(page)))
      return lookedFor.length < lookedForAtOnce ? 0 : requeue()
    },
    stop,
  )
  return found + (await requeue())
}
