import type { Queryable } from '@signet/db'
import type { EndpointId, EventId, EventType } from '@signet/webhook-core'

/** An event that came without a body, and what it takes to build one. */
export type QueuedEvent = {
  id: EventId
  accountId: string
  type: EventType
  audioId: string | null
  targetEndpointId: EndpointId | null
  createdAt: Date
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
export type ForgottenEvent = { id: EventId; accountId: string; bytes?: number; createdAt: string }

/**
 * For the sweeper: undispatched events created before `before`, oldest first, starting after `after`. Many may only be
 * waiting for their turn, so the sweeper has to page through all of them.
 */
export async function findForgottenEvents(
  db: Queryable,
  { before, after, limit }: { before: Date; after?: ForgottenEvent; limit: number },
): Promise<ForgottenEvent[]> {
  const { rows } = await db.query<ForgottenRow>(
    // octet_length does not read the body.
    `select id, account_id, octet_length(body) as bytes, created_at::text as created_at from webhook_events
     where state = 'queued' and created_at < $1 and (created_at, id) > ($2, $3)
     order by webhook_events.created_at, id limit $4`,
    [before, after?.createdAt ?? '-infinity', after?.id ?? '', limit],
  )
  return rows.map(({ id, account_id, bytes, created_at }) => ({
    id,
    accountId: account_id,
    bytes: bytes ?? undefined,
    createdAt: created_at,
  }))
}

type ForgottenRow = { id: EventId; account_id: string; bytes: number | null; created_at: string }
