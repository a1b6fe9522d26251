import type { Db } from '@signet/db'
import type { EndpointId } from '@signet/webhook-core'
import type { BacklogCanceller } from '../attempts/backlog-canceller.js'
import { findEndedWithBacklog } from '../deliveries/cancel-store.js'
import { eachPage, PAGE } from './pages.js'

export type EndedBacklogsDeps = { db: Db; canceller: Pick<BacklogCanceller, 'request'> }

/** Cancels what is left of endpoints that ended before `before`: their process died before it had cancelled all of their deliveries. */
export async function cancelEndedBacklogs(
  { db, canceller }: EndedBacklogsDeps,
  before: Date,
  stop: AbortSignal,
): Promise<void> {
  await eachPage<{ id: EndpointId }>(
    (after) => findEndedWithBacklog(db, { before, after, limit: PAGE }),
    (page) => {
      for (const { id } of page) canceller.request(id)
      return Promise.resolve(page.length)
    },
    stop,
  )
}
