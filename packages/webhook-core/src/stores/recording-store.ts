import { type Queryable, type Tx } from '@signet/db'
import { PAYLOAD_TARGET_BYTES } from '../payload/target-size.js'
import { storable, storableOrNull } from './text.js'

/** Names a recording; audio ids are unique within an account. */
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

/** A process that is frozen between lock and commit loses its connection, and with it the lock. */
const END_WHEN_FROZEN = `set_config('idle_in_transaction_session_timeout', '10s', true)`

/**
 * Makes the writers of one recording take turns until they commit. Summaries are several rows: two statements at the same
 * moment would leave some of each, because neither sees what the other has not committed, and may lock them crosswise.
 * Beside writers of the account's other recordings, but not beside who holds `lockAccount`.
 */
export async function lockRecording(tx: Tx, { accountId, audioId }: RecordingRef): Promise<void> {
  await tx.query(
    `select ${END_WHEN_FROZEN},
       pg_advisory_xact_lock_shared(hashtextextended('recordings:' || $1, 0)),
       pg_advisory_xact_lock(hashtextextended('recording:' || $1 || ':' || $2, 0))`,
    [accountId, audioId],
  )
}

/** Waits for the writers of all recordings of an account, and holds up those that come, until the transaction ends. */
export async function lockAccount(tx: Tx, accountId: string): Promise<void> {
  await tx.query(
    `select ${END_WHEN_FROZEN}, pg_advisory_xact_lock(hashtextextended('recordings:' || $1, 0))`,
    [accountId],
  )
}

/** What a caller of the internal API says about a recording: a part left out stays, `null` deletes it (contract G.1). */
export type RecordingParts = {
  recording?: RecordingFields | null
  transcript?: TranscriptFields | null
  summaries?: SummaryFields[] | null
}

/** Parts as they go to PostgreSQL. Survives the way between threads, so that megabytes can be encoded in another one. */
export type EncodedParts = { readonly encoded: readonly unknown[] }

export type MirrorChange = RecordingRef & (RecordingParts | EncodedParts)

/**
 * The writes of a MirrorChange as common table expressions over `$1` to `$14`, to be put into a larger statement: one
 * statement is one round trip, and a process that freezes half way holds no locks. `guard` is a condition for all of them.
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

/** The types of `$1` to `$14`; an insert … select cannot infer them. */
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
 * Prepares parts for `ingestSummary` and `putRecording`, which otherwise do it themselves: replaces text that cannot be
 * stored and writes what may be long as UTF-8. Takes a second for 32 MiB, so large ones belong in a worker thread.
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

// The driver sends bytes as they are, and the binary form of text and json is their UTF-8.
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

/** In the documented member order, so that the stored text is what the payload will hold. */
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

/** Writes the parts that are given into the mirror, without an event. */
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

/** The recording rows of several references, in their order; null where there is none. */
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
 * The transcripts of several references, in their order; null where there is none. Segments and text are read only as far
 * as a payload can hold them: what is longer is dropped or cut by the size rule (contract F.4) in any case.
 */
export async function findTranscripts(
  db: Queryable,
  refs: readonly RecordingRef[],
): Promise<(TranscriptFields | null)[]> {
  const { rows } = await db.query<TranscriptRow>(
    {
      name: 'find-transcripts',
      // left() counts the characters of all it keeps, the length in octets is known without reading any.
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

/** The summaries of several references, in their order and position; an empty list where there are none. */
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

/** The audio ids of an account's newest recordings that have summaries, for samples (contract E.7). */
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

/** Places rows that carry their `ord` (counted from 1) beside what they were asked for. */
function inOrder<Row extends { ord: string }, T>(
  asked: readonly unknown[],
  rows: readonly Row[],
  toValue: (row: Row) => T,
): (T | null)[] {
  const found: (T | null)[] = asked.map(() => null)
  for (const row of rows) found[Number(row.ord) - 1] = toValue(row)
  return found
}
