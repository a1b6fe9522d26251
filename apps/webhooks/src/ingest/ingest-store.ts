import type { Queryable } from '@signet/db'
import type { EventId } from '@signet/webhook-core'
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
