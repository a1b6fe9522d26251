import { jsonArray, textArray, type Queryable, type Tx } from '@signet/db'
import type { EventId } from '@signet/webhook-core'
import type { RecordingRef } from '@signet/webhook-core/stores'
import type { EncodedParts } from './encoded-parts.js'

/** If a process freezes between lock and commit, the server ends its connection, which releases the lock. */
const END_WHEN_FROZEN = `set_config('idle_in_transaction_session_timeout', '10s', true)`

/**
 * Locks a recording to delete it, because its writers take turns (infra/decisions/0153-notices-by-group-commit.md). Does not block
 * writers of the account's other recordings. Returns false if the account is deleted; then nothing may be written.
 */
export async function lockRecording(tx: Tx, { accountId, audioId }: RecordingRef): Promise<boolean> {
  const { rows } = await tx.query<{ begun: boolean }>(
    `select ${END_WHEN_FROZEN}, begin_writing_recording($1, $2) as begun`,
    [accountId, audioId],
  )
  return rows[0]?.begun === true
}

/** The event that is stored with a recording. */
export type IngestedEvent = {
  id: EventId
  createdAt: Date
  /** Name of the calling service. Keys are unique per service. */
  source: string
  sourceEventKey: string
  /** SHA-256 of the canonical request body. The same key with different content is a conflict. */
  sourceHash: Uint8Array
  /** The frozen envelope in UTF-8, or null if the dispatcher must build it. */
  body: Uint8Array | null
}

export type RecordingChange = RecordingRef & { parts: EncodedParts; event: IngestedEvent | null }

export type FinalOutcome =
  | { kind: 'created' | 'duplicate'; eventId: EventId }
  | { kind: 'stored' | 'conflict' | 'deleted' }
/** `busy`: another request is writing the recording, so nothing was done. */
export type WriteOutcome = FinalOutcome | { kind: 'busy' }

type OutcomeRow = { outcome: WriteOutcome['kind']; event_id: EventId | null }

// Named, so that each connection parses it once. The statements inside the function are also planned once.
const WRITE = {
  name: 'write-recordings',
  text: `select outcome, event_id from write_recordings(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26
  ) order by item`,
}

/**
 * Stores parts of recordings, each with its event, all in one commit, or none if any of them cannot be stored. Returns results in the
 * order of `changes`, no two of which may be about the same recording. Of many concurrent calls with the same source and key, exactly
 * one creates the event. With `waitForTurn`, nothing is busy.
 */
export async function writeRecordings(
  db: Queryable,
  changes: readonly RecordingChange[],
  { waitForTurn }: { waitForTurn: boolean },
): Promise<WriteOutcome[]> {
  const { rows } = await db.query<OutcomeRow>(WRITE, [
    waitForTurn,
    changes.map(({ accountId }) => accountId),
    textArray(changes.map(({ audioId }) => audioId)),
    ...eventColumns(changes.map(({ event }) => event)),
    ...recordingColumns(changes.map(({ parts }) => parts.recording)),
    ...transcriptColumns(changes.map(({ parts }) => parts.transcript)),
    ...summaryColumns(changes.map(({ parts }) => parts.summaries)),
  ])
  return rows.map(({ outcome: kind, event_id: eventId }) =>
    kind === 'created' || kind === 'duplicate' ? { kind, eventId: eventId as EventId } : { kind },
  )
}

const eventColumns = (events: readonly (IngestedEvent | null)[]) => [
  events.map((event) => event?.id ?? null),
  events.map((event) => event?.createdAt.toISOString() ?? null),
  events.map((event) => event?.source ?? null),
  textArray(events.map((event) => event?.sourceEventKey ?? null)),
  events.map((event) => event?.sourceHash ?? null),
  textArray(events.map((event) => event?.body ?? null)),
]

const recordingColumns = (recordings: readonly EncodedParts['recording'][]) => [
  recordings.map(actionOn),
  textArray(recordings.map((recording) => recording?.reportId ?? null)),
  recordings.map((recording) => recording?.status ?? null),
  textArray(recordings.map((recording) => recording?.title ?? null)),
  recordings.map((recording) => recording?.durationMs ?? null),
  recordings.map((recording) => recording?.recordedAt?.toISOString() ?? null),
]

const transcriptColumns = (transcripts: readonly EncodedParts['transcript'][]) => [
  transcripts.map(actionOn),
  textArray(transcripts.map((transcript) => transcript?.language ?? null)),
  textArray(transcripts.map((transcript) => transcript?.text ?? null)),
  jsonArray(transcripts.map((transcript) => transcript?.segments ?? null)),
]

/** Summaries are separate rows with a position within their recording, starting at one. */
function summaryColumns(lists: readonly EncodedParts['summaries'][]) {
  const rows = lists.flatMap((list, item) =>
    (list ?? []).map((summary, position) => ({ ...summary, item: item + 1, position })),
  )
  return [
    lists.map((list) => (list === undefined ? null : (list?.length ?? 0))),
    rows.map(({ item }) => item),
    rows.map(({ position }) => position),
    textArray(rows.map(({ label }) => label)),
    textArray(rows.map(({ content }) => content)),
    textArray(rows.map(({ format }) => format)),
    textArray(rows.map(({ templateName }) => templateName ?? null)),
  ]
}

const actionOn = (part: object | null | undefined) =>
  part === undefined ? 'keep' : part === null ? 'delete' : 'put'
