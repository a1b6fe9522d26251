import type { Queryable } from '@signet/db'
import type { EndpointId, EventId, EventState, EventType } from '@signet/webhook-core'

/** What it takes to build an event's body. */
export type QueuedEvent = {
  id: EventId
  accountId: string
  type: EventType
  audioId: string | null
  targetEndpointId: EndpointId | null
  createdAt: Date
  state: EventState
}

type EventRow = {
  id: EventId
  account_id: string
  type: EventType
  audio_id: string | null
  target_endpoint_id: EndpointId | null
  created_at: Date
  state: EventState
}

/** The events with these ids, in no particular order. Unknown ids are skipped. */
export async function findEvents(db: Queryable, ids: readonly EventId[]): Promise<QueuedEvent[]> {
  const { rows } = await db.query<EventRow>(
    {
      name: 'find-events',
      text: `select id, account_id, type, audio_id, target_endpoint_id, created_at, state
     from webhook_events where id = any ($1)`,
    },
    [ids],
  )
  return rows.map((row) => ({
    id: row.id,
    accountId: row.account_id,
    type: row.type,
    audioId: row.audio_id,
    targetEndpointId: row.target_endpoint_id,
    createdAt: row.created_at,
    state: row.state,
  }))
}

export type FrozenEvent = { id: EventId; body: string }

/** The frozen bodies of these events. Unknown, queued and purged events are skipped. */
export async function findBodies(db: Queryable, ids: readonly EventId[]): Promise<FrozenEvent[]> {
  const { rows } = await db.query<FrozenEvent>(
    `select id, body from webhook_events where id = any ($1) and body is not null`,
    [ids],
  )
  return rows
}

/** `createdAt` is PostgreSQL's text, because a Date would lose the microseconds that paging needs. */
export type ForgottenEvent = { id: EventId; createdAt: string }

/**
 * For the sweeper: undispatched events created before `before`, oldest first, starting after `after`. Many may only be
 * waiting for their turn, so the sweeper has to page through all of them.
 */
export async function findForgottenEvents(
  db: Queryable,
  { before, after, limit }: { before: Date; after?: ForgottenEvent; limit: number },
): Promise<ForgottenEvent[]> {
  const { rows } = await db.query<{ id: EventId; created_at: string }>(
    `select id, created_at::text as created_at from webhook_events
     where state = 'queued' and created_at < $1 and (created_at, id) > ($2, $3)
     order by webhook_events.created_at, id limit $4`,
    [before, after?.createdAt ?? '-infinity', after?.id ?? '', limit],
  )
  return rows.map(({ id, created_at }) => ({ id, createdAt: created_at }))
}
