import { type Queryable, type Tx } from '@signet/db'
import { PAYLOAD_TARGET_BYTES } from '../events/target-size.js'
import { storable, storableOrNull } from './text.js'

/** Identifies a recording. Audio ids are unique per account. */
export type RecordingRef = { accountId: string; audioId: string }

export type RecordingFields = {
  reportId?: string
  status?: number
  title?: string
  durationMs?: number
  recordedAt?: Date
}

/** `start` and `end` in seconds. */
export type TranscriptSegment = { speaker: string; start: number; end: number; text: string }
export type TranscriptFields = { language?: string; text: string; segments?: TranscriptSegment[] }
export type SummaryFields = { label: string; content: string; format: string; templateName?: string }

/** A process that freezes between lock and commit loses its connection, and with it the lock. */
const END_WHEN_FROZEN = `set_config('idle_in_transaction_session_timeout', '10s', true)`

/**
 * Serializes the writers of one recording until they commit. Summaries are several rows: two concurrent statements would each
 * leave some of theirs, because neither sees the other's uncommitted rows, and they could deadlock. Writers of the account's
 * other recordings are not blocked. False if the account is deleted: then nothing may be written.
 */
export async function lockRecording(tx: Tx, { accountId, audioId }: RecordingRef): Promise<boolean> {
  const { rows } = await tx.query<{ begun: boolean }>(
    `select ${END_WHEN_FROZEN}, begin_writing_recording($1, $2) as begun`,
    [accountId, audioId],
  )
  return rows[0]?.begun === true
}

/** An update of a recording through the internal API: an omitted part stays, `null` deletes it. */
export type RecordingParts = {
  recording?: RecordingFields | null
  transcript?: TranscriptFields | null
  summaries?: SummaryFields[] | null
}

/** Parts encoded for PostgreSQL. Can be transferred between threads, so that a worker thread can encode large ones. */
export type EncodedParts = { readonly encoded: readonly unknown[] }

export type MirrorChange = RecordingRef & (RecordingParts | EncodedParts)

/**
 * The writes of a MirrorChange as common table expressions over `$1` to `$14`, for use in a larger statement: one statement is
 * one round trip, and a process that freezes halfway holds no locks. `guard` is a condition for all of them.
 */
export const mirrorWrites = (guard: string): string => `
  recording_put as (
    insert into recordings (account_id, audio_id, report_id, status, title, duration_ms, recorded_at)
    select $1, $2, $4, $5, $6, $7, $8 where $3 = 'put' and ${guard}
    on conflict (account_id, audio_id) do update set
      report_id = excluded.report_id, status = excluded.status, title = excluded.title,
      duration_ms = excluded.duration_ms, recorded_at = excluded.recorded_at, updated_at = now()
  ),
  recording_deleted as (
    delete from recordings where account_id = $1 and audio_id = $2 and $3 = 'delete' and ${guard}
  ),
  transcript_put as (
    insert into transcripts (account_id, audio_id, language, text, segments)
    select $1, $2, $10, $11, $12 where $9 = 'put' and ${guard}
    on conflict (account_id, audio_id) do update set
      language = excluded.language, text = excluded.text, segments = excluded.segments, updated_at = now()
  ),
  transcript_deleted as (
    delete from transcripts where account_id = $1 and audio_id = $2 and $9 = 'delete' and ${guard}
  ),
  summaries_put as (
    insert into summaries (account_id, audio_id, position, label, content, format, template_name)
    select $1, $2, s.position - 1, s.item ->> 'label', s.item ->> 'content', s.item ->> 'format',
      s.item ->> 'template_name'
    from json_array_elements($14) with ordinality as s (item, position)
    where $13 = 'put' and ${guard}
    on conflict (account_id, audio_id, position) do update set
      label = excluded.label, content = excluded.content, format = excluded.format,
      template_name = excluded.template_name, updated_at = now()
  ),
  summaries_deleted as (
    delete from summaries
    where account_id = $1 and audio_id = $2 and position >= json_array_length($14)
      and $13 <> 'keep' and ${guard}
  )`

/** The types of `$1` to `$14`, which an insert … select cannot infer. */
export const MIRROR_PARAMETERS = `
  mirror_parameters as (
    select $1::uuid, $2::text, $3::text, $4::text, $5::integer, $6::text, $7::bigint, $8::timestamptz,
      $9::text, $10::text, $11::text, $12::json, $13::text, $14::json
  )`

/** The values of `$1` to `$14` of `mirrorWrites`. */
export const mirrorValues = (change: MirrorChange): unknown[] => [
  change.accountId,
  change.audioId,
  ...('encoded' in change ? change : encodeParts(change)).encoded,
]

/**
 * Encodes parts for `ingestSummary` and `putRecording`, which otherwise do it themselves: replaces characters that cannot be
 * stored and converts long text to UTF-8. Takes a second for 32 MiB, so large parts belong in a worker thread.
 */
export function encodeParts({ recording, transcript, summaries }: RecordingParts): EncodedParts {
  return {
    encoded: [
      actionOn(recording),
      storableOrNull(recording?.reportId),
      recording?.status ?? null,
      storableOrNull(recording?.title),
      recording?.durationMs ?? null,
      recording?.recordedAt ?? null,
      actionOn(transcript),
      storableOrNull(transcript?.language),
      transcript ? utf8(storable(transcript.text)) : null,
      transcript?.segments ? segmentsJson(transcript.segments) : null,
      actionOn(summaries),
      summariesJson(summaries ?? []),
    ],
  }
}

const actionOn = (part: object | null | undefined) =>
  part === undefined ? 'keep' : part === null ? 'delete' : 'put'

// The driver sends bytes unchanged, and the binary form of text and json is UTF-8.
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

/** In the documented member order, so that the payload can use the stored text as is. */
const segmentsJson = (segments: readonly TranscriptSegment[]): Uint8Array =>
  utf8(
    JSON.stringify(
      segments.map(({ speaker, start, end, text }) => ({
        speaker: storable(speaker),
        start,
        end,
        text: storable(text),
      })),
    ),
  )

const summariesJson = (summaries: readonly SummaryFields[]): Uint8Array =>
  utf8(
    JSON.stringify(
      summaries.map(({ label, content, format, templateName }) => ({
        label: storable(label),
        content: storable(content),
        format: storable(format),
        template_name: storableOrNull(templateName),
      })),
    ),
  )

const PUT_MIRROR = `with ${MIRROR_PARAMETERS}, ${mirrorWrites('true')} select`

/** Stores the given parts of a recording, without an event. */
export async function putRecording(db: Queryable, change: MirrorChange): Promise<void> {
  await db.query(PUT_MIRROR, mirrorValues(change))
}

type RecordingRow = {
  ord: string
  report_id: string | null
  status: number | null
  title: string | null
  duration_ms: string | null
  recorded_at: Date | null
}

/** The recordings of several references, in order; null where there is none. */
export async function findRecordings(
  db: Queryable,
  refs: readonly RecordingRef[],
): Promise<(RecordingFields | null)[]> {
  const { rows } = await db.query<RecordingRow>(
    {
      name: 'find-recordings',
      text: `select wanted.ord, r.report_id, r.status, r.title, r.duration_ms, r.recorded_at
     from unnest($1::uuid[], $2::text[]) with ordinality as wanted (account_id, audio_id, ord)
     join recordings r using (account_id, audio_id)`,
    },
    refColumns(refs),
  )
  return inOrder(refs, rows, (row) => ({
    reportId: row.report_id ?? undefined,
    status: row.status ?? undefined,
    title: row.title ?? undefined,
    durationMs: row.duration_ms === null ? undefined : Number(row.duration_ms),
    recordedAt: row.recorded_at ?? undefined,
  }))
}

type TranscriptRow = {
  ord: string
  language: string | null
  text: string
  segments: TranscriptSegment[] | null
}

/**
 * The transcripts of several references, in order; null where there is none. Reads only as much of segments and text as fits
 * into a payload: the size limit would drop or cut the rest anyway.
 */
export async function findTranscripts(
  db: Queryable,
  refs: readonly RecordingRef[],
): Promise<(TranscriptFields | null)[]> {
  const { rows } = await db.query<TranscriptRow>(
    {
      name: 'find-transcripts',
      // left() has to count characters; octet_length does not have to read the text.
      text: `select wanted.ord, t.language,
       case when octet_length(t.text) <= $3 then t.text else left(t.text, $3 + 1) end as text,
       case when octet_length(t.segments::text) <= $3 then t.segments end as segments
     from unnest($1::uuid[], $2::text[]) with ordinality as wanted (account_id, audio_id, ord)
     join transcripts t using (account_id, audio_id)`,
    },
    [...refColumns(refs), PAYLOAD_TARGET_BYTES],
  )
  return inOrder(refs, rows, (row) => ({
    language: row.language ?? undefined,
    text: row.text,
    segments: row.segments ?? undefined,
  }))
}

type SummaryRow = {
  ord: string
  label: string
  content: string
  format: string
  template_name: string | null
}

/** The summaries of several references, in order and by position; an empty list where there are none. */
export async function findSummaries(
  db: Queryable,
  refs: readonly RecordingRef[],
): Promise<SummaryFields[][]> {
  const { rows } = await db.query<SummaryRow>(
    {
      name: 'find-summaries',
      text: `select wanted.ord, s.label, s.content, s.format, s.template_name
     from unnest($1::uuid[], $2::text[]) with ordinality as wanted (account_id, audio_id, ord)
     join summaries s using (account_id, audio_id)
     order by wanted.ord, s.position`,
    },
    refColumns(refs),
  )
  const found: SummaryFields[][] = refs.map(() => [])
  for (const { ord, label, content, format, template_name } of rows) {
    found[Number(ord) - 1]?.push({ label, content, format, templateName: template_name ?? undefined })
  }
  return found
}

/** The audio ids of an account's newest recordings that have summaries, for samples. */
export async function findRecentlySummarised(
  db: Queryable,
  accountId: string,
  limit: number,
): Promise<string[]> {
  const { rows } = await db.query<{ audio_id: string }>(
    `select audio_id from summaries
     where account_id = $1 and position = 0
     order by created_at desc, audio_id
     limit $2`,
    [accountId, limit],
  )
  return rows.map(({ audio_id }) => audio_id)
}

const refColumns = (refs: readonly RecordingRef[]): [string[], string[]] => [
  refs.map(({ accountId }) => accountId),
  refs.map(({ audioId }) => audioId),
]

/** Puts rows in the order in which they were asked for, by their `ord`, which starts at 1. */
function inOrder<Row extends { ord: string }, T>(
  asked: readonly unknown[],
  rows: readonly Row[],
  toValue: (row: Row) => T,
): (T | null)[] {
  const found: (T | null)[] = asked.map(() => null)
  for (const row of rows) found[Number(row.ord) - 1] = toValue(row)
  return found
}
