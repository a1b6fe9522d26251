import type { Db } from '@signet/db'
import { AppError } from '@signet/errors'
import type { RequestMeta } from '@signet/telemetry'
import { newEventId, type EventId } from '@signet/webhook-core'
import { purgeRecording, type RecordingRef } from '@signet/webhook-core/stores'
import { bytesOf, type EncodedParts } from './encoded-parts.js'
import { lockRecording } from './recording-store.js'
import { RecordingWriter } from './recording-writer.js'
import type { EventPublisher } from '../events/event-publisher.js'
import type { WebhookObserver } from '../observers/webhook-observer.js'
import type { NewEvent, SummaryReady } from './summary-ready.js'

/** The calling service, by its name in the configuration. */
type Caller = { name: string }
type Deps = { db: Db; publisher: EventPublisher; webhookObserver: WebhookObserver; now: () => Date }

/** Handles notices and updates of the recording pipeline (docs/specification.md#internal-api). Trusts account ids from these callers. */
export class IngestService {
  readonly #writer: RecordingWriter

  constructor(private readonly deps: Deps) {
    this.#writer = new RecordingWriter(deps.db)
  }

  /** The id and time of an incoming notice's event, which its envelope and its row share. */
  newEvent(): NewEvent {
    const createdAt = this.deps.now()
    return { id: newEventId(createdAt), createdAt }
  }

  /** Stores recording and event together, once per caller and key. */
  async summaryReady(
    { name }: Caller,
    { event, sourceEventKey, accountId, audioId, hash, parts, body }: SummaryReady,
    meta: RequestMeta,
  ): Promise<{ eventId: EventId; duplicate: boolean }> {
    const { publisher, webhookObserver } = this.deps
    const outcome = await this.#writer.write({
      accountId,
      audioId,
      parts,
      event: { ...event, source: name, sourceEventKey, sourceHash: hash, body },
    })
    switch (outcome.kind) {
      case 'created': {
        const { eventId } = outcome
        publisher.publish({ id: eventId, accountId, bytes: sizeOf(parts, body) })
        webhookObserver.summaryIngested({ eventId, source: name, accountId }, meta)
        return { eventId, duplicate: false }
      }
      case 'duplicate': {
        const { eventId } = outcome
        webhookObserver.summaryRepeated({ eventId, source: name, accountId }, meta)
        return { eventId, duplicate: true }
      }
      case 'conflict':
        webhookObserver.summaryConflicted({ source: name, accountId }, meta)
        throw new AppError(
          'conflict',
          'conflict',
          'This source_event_key was used before with different content',
        )
      case 'deleted':
        throw accountDeleted()
      case 'stored':
        throw new Error('a notice was stored without its event')
    }
  }

  async putRecording(
    { name }: Caller,
    recording: RecordingRef,
    parts: EncodedParts,
    meta: RequestMeta,
  ): Promise<void> {
    const outcome = await this.#writer.write({ ...recording, parts, event: null })
    if (outcome.kind === 'deleted') throw accountDeleted()
    this.deps.webhookObserver.recordingStored({ accountId: recording.accountId, source: name }, meta)
  }

  /** Reports a line of a batch that failed on our side. The response contains only its code. */
  reportFailedLine(error: unknown, meta: RequestMeta): void {
    this.deps.webhookObserver.batchLineFailed(error, meta)
  }

  /** Deletes a recording, deletes the bodies of its events and ends their pending deliveries. */
  async deleteRecording({ name }: Caller, recording: RecordingRef, meta: RequestMeta): Promise<void> {
    // A deleted account has nothing left to delete.
    const purged = await this.deps.db.transaction(async (tx) =>
      (await lockRecording(tx, recording)) ? purgeRecording(tx, recording) : NOTHING_PURGED,
    )
    this.deps.webhookObserver.recordingDeleted(
      { accountId: recording.accountId, source: name, ...purged },
      meta,
    )
  }
}

/** The size of what the dispatcher will read: the body, or the parts from which it builds the body. */
const sizeOf = (parts: EncodedParts, body: Uint8Array | null): number =>
  body?.byteLength ?? bytesOf(parts).reduce((sum, { byteLength }) => sum + byteLength, 0)

const NOTHING_PURGED = { purgedEvents: 0, cancelledDeliveries: 0 }

const accountDeleted = () =>
  new AppError('gone', 'account_deleted', 'This account was deleted, nothing can be stored for it')
