import type { Queryable, Tx } from '@signet/db'
import type { RecordingRef } from '@signet/webhook-core/stores'
import { encodeParts, type EncodedParts, type RecordingParts } from './encoded-parts.js'

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

const PUT_MIRROR = `with ${MIRROR_PARAMETERS}, ${mirrorWrites('true')} select`

/** Stores the given parts of a recording, without an event. */
export async function putRecording(db: Queryable, change: MirrorChange): Promise<void> {
  await db.query(PUT_MIRROR, mirrorValues(change))
}
