import type { Queryable } from '@signet/db'
import type {
  RecordingFields,
  RecordingRef,
  SummaryFields,
  TranscriptFields,
  TranscriptSegment,
} from '../recordings/recording-content.js'
import { PAYLOAD_TARGET_BYTES } from '../recordings/target-size.js'

/** `ord` is the position of the row's reference, starting at 1. */
type Numbered<Columns> = Columns & { ord: string }

export type RecordingColumns = {
  report_id: string | null
  status: number | null
  title: string | null
  duration_ms: string | number | null
  recorded_at: Date | null
}

export const toRecording = (row: RecordingColumns): RecordingFields => ({
  reportId: row.report_id ?? undefined,
  status: row.status ?? undefined,
  title: row.title ?? undefined,
  durationMs: row.duration_ms === null ? undefined : Number(row.duration_ms),
  recordedAt: row.recorded_at ?? undefined,
})

/** Returns the recordings of several references, in order, with null for those that do not exist. */
export async function findRecordings(
  db: Queryable,
  refs: readonly RecordingRef[],
): Promise<(RecordingFields | null)[]> {
  const { rows } = await db.query<Numbered<RecordingColumns>>(
    {
      name: 'find-recordings',
      text: `select wanted.ord, r.report_id, r.status, r.title, r.duration_ms, r.recorded_at
     from unnest($1::uuid[], $2::text[]) with ordinality as wanted (account_id, audio_id, ord)
     join recordings r using (account_id, audio_id)`,
    },
    [accountIds(refs), audioIds(refs)],
  )
  return inOrder(refs, rows, toRecording)
}

export type TranscriptColumns = {
  language: string | null
  text: string
  segments: TranscriptSegment[] | null
}

export const toTranscript = ({ language, text, segments }: TranscriptColumns): TranscriptFields => ({
  language: language ?? undefined,
  text,
  segments: segments ?? undefined,
})

/**
 * Returns the transcripts of several references, in order, with null for those that do not exist. Reads only as much of segments and
 * text as fits into a payload: the size limit would drop or cut the rest anyway.
 */
export async function findTranscripts(
  db: Queryable,
  refs: readonly RecordingRef[],
): Promise<(TranscriptFields | null)[]> {
  const { rows } = await db.query<Numbered<TranscriptColumns>>(
    {
      name: 'find-transcripts',
      // left() has to count characters, but octet_length does not have to read the text.
      text: `select wanted.ord, t.language,
       case when octet_length(t.text) <= $3 then t.text else left(t.text, $3 + 1) end as text,
       case when octet_length(t.segments::text) <= $3 then t.segments end as segments
     from unnest($1::uuid[], $2::text[]) with ordinality as wanted (account_id, audio_id, ord)
     join transcripts t using (account_id, audio_id)`,
    },
    [accountIds(refs), audioIds(refs), PAYLOAD_TARGET_BYTES],
  )
  return inOrder(refs, rows, toTranscript)
}

export type SummaryColumns = {
  label: string
  content: string
  format: string
  template_name: string | null
}

export const toSummary = ({ label, content, format, template_name }: SummaryColumns): SummaryFields => ({
  label,
  content,
  format,
  templateName: template_name ?? undefined,
})

/** Returns the summaries of several references, in order and by position, with an empty list if there are none. */
export async function findSummaries(
  db: Queryable,
  refs: readonly RecordingRef[],
): Promise<SummaryFields[][]> {
  const { rows } = await db.query<Numbered<SummaryColumns>>(
    {
      name: 'find-summaries',
      text: `select wanted.ord, s.label, s.content, s.format, s.template_name
     from unnest($1::uuid[], $2::text[]) with ordinality as wanted (account_id, audio_id, ord)
     join summaries s using (account_id, audio_id)
     order by wanted.ord, s.position`,
    },
    [accountIds(refs), audioIds(refs)],
  )
  const found: SummaryFields[][] = refs.map(() => [])
  for (const row of rows) found[Number(row.ord) - 1]?.push(toSummary(row))
  return found
}

const accountIds = (refs: readonly RecordingRef[]): string[] => refs.map(({ accountId }) => accountId)
const audioIds = (refs: readonly RecordingRef[]): string[] => refs.map(({ audioId }) => audioId)

/** Puts rows into the order in which they were asked for. */
function inOrder<Columns, T>(
  asked: readonly unknown[],
  rows: readonly Numbered<Columns>[],
  toValue: (row: Columns) => T,
): (T | null)[] {
  const found: (T | null)[] = asked.map(() => null)
  for (const row of rows) found[Number(row.ord) - 1] = toValue(row)
  return found
}
