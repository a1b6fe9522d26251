import type { Queryable } from '@signet/db'
import type { EventId } from '../ids.js'
import type { RecordingContent } from '../recordings/recording-content.js'
import {
  toRecording,
  toSummary,
  toTranscript,
  type RecordingColumns,
  type SummaryColumns,
} from './recording-store.js'

/**
 * The parts that came with the notice of an event, for an event that could not be frozen on arrival
 * (apps/webhooks/docs/ingest.md#frozen-on-arrival). A part that the notice left out is absent.
 */
export type GivenParts = Partial<RecordingContent>

type Row = {
  event_id: EventId
  given_recording: string | null
  given_transcript: string | null
  given_summaries: string | null
}
type GivenRecording = Omit<RecordingColumns, 'recorded_at'> & { recorded_at_ms: number | null }

/** The given parts of these events. Skips events that are no longer queued. */
// oxlint-disable-next-line signet/account-in-stores -- for the dispatcher, of the events that it dispatches
export async function findGivenParts(
  db: Queryable,
  ids: readonly EventId[],
): Promise<ReadonlyMap<EventId, GivenParts>> {
  const { rows } = await db.query<Row>(
    {
      name: 'find-given-parts',
      text: `select event_id, given_recording, given_transcript, given_summaries
     from webhook_queued_events where event_id = any ($1)`,
    },
    [ids],
  )
  return new Map(
    rows.map(({ event_id, given_recording, given_transcript, given_summaries }) => [
      event_id,
      {
        recording: given(given_recording, recordingOf),
        transcript: given(given_transcript, toTranscript),
        summaries: given(given_summaries, (list: SummaryColumns[]) => list.map(toSummary)) ?? undefined,
      } satisfies { [Part in keyof RecordingContent]: GivenParts[Part] },
    ]),
  )
}

/** A column is null if the notice left the part out, and the JSON `null` if it said that there is none. */
function given<Json, Part>(json: string | null, toPart: (value: Json) => Part): Part | null | undefined {
  if (json === null) return undefined
  const value = JSON.parse(json) as Json | null
  return value === null ? null : toPart(value)
}

const recordingOf = ({ recorded_at_ms: ms, ...columns }: GivenRecording) =>
  toRecording({ ...columns, recorded_at: ms === null ? null : new Date(ms) })
