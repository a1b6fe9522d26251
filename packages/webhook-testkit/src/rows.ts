import { createHash, randomUUID } from 'node:crypto'
import type { Db, Queryable } from '@signet/db'
import { newEventId, type DeliveryId, type EndpointId, type EventId } from '@signet/webhook-core'
import {
  insertEndpoint,
  type Endpoint,
  type RecordingFields,
  type SummaryFields,
  type TranscriptFields,
} from '@signet/webhook-core/stores'

export const NOW = new Date('2030-01-01T10:00:00.000Z')
export const later = (ms: number): Date => new Date(NOW.getTime() + ms)

export const anAccount = (): string => randomUUID()

export async function anEndpoint(
  db: Db,
  {
    accountId = anAccount(),
    url = 'https://example.com/hook',
    events = ['summary.completed'],
    max = 1000,
  } = {},
): Promise<Endpoint> {
  const endpoint = await db.transaction((tx) =>
    insertEndpoint(tx, {
      accountId,
      url,
      href: new URL(url).href,
      events,
      maxPerAccount: max,
      seal: (id) => ({ keyId: 'k1', ciphertext: Buffer.from(`sealed for ${id}`) }),
    }),
  )
  if (endpoint === null) throw new Error('no place left')
  return endpoint
}

export type TestSummary = {
  eventId: EventId
  accountId: string
  audioId: string
  source: string
  sourceEventKey: string
  sourceHash: Buffer
  recording?: RecordingFields
  transcript?: TranscriptFields
  summaries?: SummaryFields[]
  /** The frozen body; without one, the dispatcher builds it. */
  body?: string
}

export function aSummary(overrides: Partial<TestSummary> & { accountId: string }): TestSummary {
  const sourceEventKey = overrides.sourceEventKey ?? `summary:${randomUUID()}`
  return {
    eventId: newEventId(new Date()),
    audioId: 'rec_1001',
    source: 'pipeline',
    sourceEventKey,
    sourceHash: createHash('sha256').update(sourceEventKey).digest(),
    ...overrides,
  }
}

/**
 * Inserts the rows that the API leaves for a new event, in one statement because a dispatcher may pick the event up at once.
 * Parts of its recording that exist already stay as they are.
 */
export async function queueSummary(db: Queryable, summary: TestSummary): Promise<void> {
  const { accountId, audioId, recording, transcript, summaries = [] } = summary
  await db.query(
    `with recording as (
       insert into recordings (account_id, audio_id, report_id, status, title, duration_ms, recorded_at)
       select $1, $2, r.report_id, r.status, r.title, r.duration_ms, r.recorded_at
       from json_to_record($6) as r
         (report_id text, status integer, title text, duration_ms bigint, recorded_at timestamptz)
       where $6 is not null
       on conflict do nothing
     ),
     transcript as (
       insert into transcripts (account_id, audio_id, language, text, segments)
       select $1, $2, t.language, t.text, t.segments
       from json_to_record($7) as t (language text, text text, segments json)
       where $7 is not null
       on conflict do nothing
     ),
     summary as (
       insert into summaries (account_id, audio_id, position, label, content, format, template_name)
       select $1, $2, s.position - 1, s.item ->> 'label', s.item ->> 'content', s.item ->> 'format',
         s.item ->> 'template_name'
       from json_array_elements($8) with ordinality as s (item, position)
       on conflict do nothing
     )
     insert into webhook_events (id, account_id, type, audio_id, source, source_event_key, source_hash, body)
     values ($3, $1, 'summary.completed', $2, $4, $5, $9, $10)`,
    [
      accountId,
      audioId,
      summary.eventId,
      summary.source,
      summary.sourceEventKey,
      recording && asJson(recording),
      transcript && asJson(transcript),
      asJson(summaries),
      summary.sourceHash,
      summary.body,
    ],
  )
}

/** JSON whose members have the names of columns. */
const asJson = (value: object): string =>
  JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(
          Object.entries(member).map(([name, each]) => [
            name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
            each as unknown,
          ]),
        )
      : member,
  )

/** Inserts the row that the API leaves for a test event. */
export async function queuePing(
  db: Queryable,
  { eventId, accountId, endpointId }: { eventId: EventId; accountId: string; endpointId: EndpointId },
): Promise<void> {
  await db.query(
    `insert into webhook_events (id, account_id, type, target_endpoint_id, source)
     values ($1, $2, 'webhook.ping', $3, 'test')`,
    [eventId, accountId, endpointId],
  )
}

export type DeliveryState = {
  status: number
  attempts: number
  last_error: string
  next_attempt_at: Date | null
  delivered_at: Date | null
}

export async function deliveryState(db: Db, id: DeliveryId): Promise<DeliveryState> {
  const { rows } = await db.query<DeliveryState>(
    `select status, attempts, last_error, next_attempt_at, delivered_at from webhook_deliveries where id = $1`,
    [id],
  )
  if (!rows[0]) throw new Error(`no delivery ${id}`)
  return rows[0]
}

export type EndpointState = {
  status: number
  consecutive_failures: number
  updated_at: Date
  url_version: number
}

export async function endpointState(db: Db, id: EndpointId): Promise<EndpointState> {
  const { rows } = await db.query<EndpointState>(
    `select status, consecutive_failures, updated_at, url_version from webhook_endpoints where id = $1`,
    [id],
  )
  if (!rows[0]) throw new Error(`no endpoint ${id}`)
  return rows[0]
}

export async function countRows(db: Db, table: string, column: string, value: unknown): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::integer as n from ${table} where ${column} = $1`,
    [value],
  )
  return rows[0]?.n ?? -1
}
