import type { Queryable } from '@signet/db'
import type { RecordingRef } from '@signet/webhook-core/stores'
import type { TestSummary } from '@signet/webhook-testkit'
import { encodeParts, type RecordingParts } from '../../src/ingest/encoded-parts.js'
import { writeRecordings, type RecordingChange, type WriteOutcome } from '../../src/ingest/recording-store.js'

type Notice = Omit<TestSummary, keyof RecordingParts> & RecordingParts

/** What the API writes for a notice. */
export const aChange = ({
  accountId,
  audioId,
  eventId,
  source,
  sourceEventKey,
  sourceHash,
  ...parts
}: Notice): RecordingChange => ({
  accountId,
  audioId,
  parts: encodeParts(parts),
  event: { id: eventId, createdAt: new Date(), source, sourceEventKey, sourceHash, body: null },
})

/** Writes a notice, after a wait for its turn among the writers of the recording. */
export async function ingestSummary(db: Queryable, summary: Notice): Promise<WriteOutcome> {
  const [outcome] = await writeRecordings(db, [aChange(summary)], { waitForTurn: true })
  if (outcome === undefined) throw new Error('no outcome')
  return outcome
}

/** Writes a recording in the same way, without an event. */
export async function putRecording(
  db: Queryable,
  { accountId, audioId, ...parts }: RecordingRef & RecordingParts,
): Promise<void> {
  await writeRecordings(db, [{ accountId, audioId, parts: encodeParts(parts), event: null }], {
    waitForTurn: true,
  })
}
