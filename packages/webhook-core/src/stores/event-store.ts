import { type Queryable } from '@signet/db'
import { type EventType } from '../events/catalogue.js'
import { type EndpointId, type EventId } from '../ids.js'
import { SAMPLES_TARGET_BYTES } from '../events/target-size.js'
import { MIRROR_PARAMETERS, mirrorValues, mirrorWrites, type MirrorChange } from './recording-store.js'

export type IngestedSummary = MirrorChange & {
  /** Id for a new event. The result has the id that was stored. */
  eventId: EventId
  /** Name of the calling service. Keys are unique per service. */
  source: string
  sourceEventKey: string
  /** SHA-256 of the canonical request body: the same key with different content is a conflict. */
  sourceHash: Buffer
}

export type IngestResult =
  { kind: 'created'; eventId: EventId } | { kind: 'duplicate'; eventId: EventId } | { kind: 'conflict' }

// Named, so that each connection parses and plans it once. Planning was half of its cost.
const INGEST = {
  name: 'ingest-summary',
  text: `
  with ${MIRROR_PARAMETERS},
  event as (
    insert into webhook_events (id, account_id, type, audio_id, source, source_event_key, source_hash)
    values ($15, $1, 'summary.completed', $2, $16, $17, $18)
    on conflict (source, source_event_key) do nothing
    returning id
  ),
  ${mirrorWrites('exists (select from event)')}
  select id from event`,
}

/**
 * Stores an event and its recording in one statement: both or neither. Of many concurrent calls with one key exactly one
 * creates the event. The row in state `queued` also tells the dispatcher about it.
 */
export async function ingestSummary(db: Queryable, summary: IngestedSummary): Promise<IngestResult> {
  const { eventId, source, sourceEventKey, sourceHash } = summary
  const values = [...mirrorValues(summary), eventId, source, sourceEventKey, sourceHash]
  // Loops only if retention deleted the earlier event between the two statements.
  for (;;) {
    const { rows: created } = await db.query(INGEST, values)
    if (created.length > 0) return { kind: 'created', eventId }
    const { rows } = await db.query<{ id: EventId; source_hash: Buffer }>(
      `select id, source_hash from webhook_events where source = $1 and source_event_key = $2`,
      [source, sourceEventKey],
    )
    const [earlier] = rows
    if (earlier?.source_hash.equals(sourceHash)) return { kind: 'duplicate', eventId: earlier.id }
    if (earlier) return { kind: 'conflict' }
  }
}

/**
 * Queues a ping for one endpoint. Returns `queued`, or `disabled` with nothing stored, or null if the account has no such
 * endpoint. Dispatching checks again whether the endpoint is active.
 */
export async function insertPing(
  db: Queryable,
  ping: { eventId: EventId; accountId: string; endpointId: EndpointId },
): Promise<'queued' | 'disabled' | null> {
  const { rows } = await db.query<{ active: boolean }>(
    `with endpoint as (
       select id, account_id, status = 1 as active from webhook_endpoints
       where account_id = $2 and id = $3 and deleted_at is null
     ), event as (
       insert into webhook_events (id, account_id, type, target_endpoint_id, source)
       select $1, account_id, 'webhook.ping', id, 'test' from endpoint where active
     )
     select active from endpoint`,
    [ping.eventId, ping.accountId, ping.endpointId],
  )
  const [endpoint] = rows
  if (endpoint === undefined) return null
  return endpoint.active ? 'queued' : 'disabled'
}

export type EventState = 'queued' | 'dispatched' | 'purged'

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

/**
 * The newest frozen bodies of an account, for samples (apps/webhooks/docs/specification.md#samples). Fewer than `limit` if they are huge, but always the newest.
 * Pings are excluded.
 */
export async function findRecentBodies(
  db: Queryable,
  accountId: string,
  type: EventType,
  limit: number,
): Promise<string[]> {
  const { rows } = await db.query<{ body: string }>(
    // octet_length does not have to read the text.
    `select body from (
       select body, created_at, id,
         sum(octet_length(body)) over (order by created_at desc, id desc) - octet_length(body) as bytes_before
       from (
         select body, created_at, id from webhook_events
         where account_id = $1 and type = $2 and state = 'dispatched' and target_endpoint_id is null
         order by created_at desc, id desc limit $3
       ) as newest
     ) as measured
     where bytes_before < $4
     order by created_at desc, id desc`,
    [accountId, type, limit, SAMPLES_TARGET_BYTES],
  )
  return rows.map(({ body }) => body)
}
