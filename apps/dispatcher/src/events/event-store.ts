import type { Queryable } from '@signet/db'
import type { EndpointId, EventId, EventType } from '@signet/webhook-core'

const MAX_INT = 2 ** 31 - 1

/** An event that came without a body, and what it takes to build one. */
export type QueuedEvent = {
  id: EventId
  accountId: string
  type: EventType
  audioId: string | null
  targetEndpointId: EndpointId | null
  createdAt: Date
  /** Present if parts came with the notice. The others have to be read from the recording. */
  given?: { summaryBytes: number | null } | undefined
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

/** The frozen body of an event, its size if it has more than `maxBytes`, and null for one that is unknown, queued or purged. */
export async function findBody(
  db: Queryable,
  id: EventId,
  maxBytes: number,
): Promise<Buffer | { bytes: number } | null> {
  const { rows } = await db.query<{ body: string | null; bytes: number }>(
    {
      name: 'find-body',
      // octet_length does not read the body.
      text: `select octet_length(body) as bytes, case when octet_length(body) <= $2 then body end as body
       from webhook_events where id = $1 and body is not null`,
    },
    [id, Math.min(maxBytes, MAX_INT)],
  )
  const [event] = rows
  if (event === undefined) return null
  return event.body === null ? { bytes: event.bytes } : Buffer.from(event.body)
}

export type ForgottenFilter = {
  before: Date
  /** Events created from `from` until before `to`; none by default. */
  except?: { from: Date; to: Date }
  after?: ForgottenEvent
  limit: number
}

export type ForgottenEvent = { id: EventId; accountId: string; bytes?: number }

/**
 * For the sweeper: undispatched events created before `before` and not within `except`, by ascending id and so by age, starting after
 * `after`. Many may only be waiting for their turn, so the sweeper has to page through all of them.
 */
export async function findForgottenEvents(
  db: Queryable,
  { before, except = { from: before, to: before }, after, limit }: ForgottenFilter,
): Promise<ForgottenEvent[]> {
  const { rows } = await db.query<ForgottenRow>(
    // octet_length does not read the body.
    `select e.id, e.account_id, octet_length(e.body) as bytes
     from webhook_queued_events q join webhook_events e on e.id = q.event_id
     where q.event_id > $2 and e.created_at < $1 and (e.created_at < $4 or e.created_at >= $5)
     order by q.event_id limit $3`,
    [before, after?.id ?? '', limit, except.from, except.to],
  )
  return rows.map(({ id, account_id, bytes }) => ({ id, accountId: account_id, bytes: bytes ?? undefined }))
}

type ForgottenRow = { id: EventId; account_id: string; bytes: number | null }

/** Which of these events are queued. */
export async function findQueued(db: Queryable, ids: readonly EventId[]): Promise<ReadonlySet<EventId>> {
  const { rows } = await db.query<{ event_id: EventId }>(
    'select event_id from webhook_queued_events where event_id = any ($1)',
    [ids],
  )
  return new Set(rows.map(({ event_id }) => event_id))
}
