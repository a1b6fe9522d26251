import type { Db, Tx } from '@signet/db'
import { AppError } from '@signet/errors'
import type { Logger } from '@signet/telemetry'
import { newEventId, type EventId } from '@signet/webhook-core'
import { purgeRecording, type RecordingRef } from '@signet/webhook-core/stores'
import type { EncodedParts } from './encoded-parts.js'
import { ingestSummary } from './ingest-store.js'
import { lockRecording, putRecording } from './recording-store.js'
import type { EventPublisher } from '../events/event-publisher.js'
import type { WebhookObserver } from '../observers/webhook-observer.js'
import type { SummaryReady } from './summary-ready.js'

/** The service that reports, by its name in the configuration. */
type Caller = { name: string }
type Deps = { db: Db; publisher: EventPublisher; webhookObserver: WebhookObserver; now: () => Date }

/** What the recording pipeline tells us (docs/specification.md#internal-api). Account ids are trusted from these callers. */
export class IngestService {
  constructor(private readonly deps: Deps) {}

  /** Stores recording and event together, once per caller and key. */
  async summaryReady(
    { name }: Caller,
    { sourceEventKey, accountId, audioId, hash, parts }: SummaryReady,
    log: Logger,
  ): Promise<{ eventId: EventId; duplicate: boolean }> {
    const { publisher, webhookObserver, now } = this.deps
    const result = await this.#inTurn({ accountId, audioId }, (tx) =>
      ingestSummary(tx, {
        eventId: newEventId(now()),
        accountId,
        audioId,
        source: name,
        sourceEventKey,
        sourceHash: Buffer.from(hash),
        ...parts,
      }),
    )
    if (result.kind === 'conflict') {
      webhookObserver.summaryConflicted({ source: name, accountId }, log)
      throw new AppError('conflict', 'conflict', 'This source_event_key came with other content before')
    }
    const { eventId } = result
    if (result.kind === 'duplicate') {
      webhookObserver.summaryRepeated({ eventId, source: name, accountId }, log)
      return { eventId, duplicate: true }
    }
    publisher.publish(eventId)
    webhookObserver.summaryIngested({ eventId, source: name, accountId }, log)
    return { eventId, duplicate: false }
  }

  async putRecording(
    { name }: Caller,
    recording: RecordingRef,
    parts: EncodedParts,
    log: Logger,
  ): Promise<void> {
    await this.#inTurn(recording, (tx) => putRecording(tx, { ...recording, ...parts }))
    this.deps.webhookObserver.recordingStored({ accountId: recording.accountId, source: name }, log)
  }

  /** With what was made of it: the bodies of its events; deliveries still pending end. */
  async deleteRecording({ name }: Caller, recording: RecordingRef, log: Logger): Promise<void> {
    // Of a deleted account there is nothing left to delete.
    const purged = await this.deps.db.transaction(async (tx) =>
      (await lockRecording(tx, recording)) ? purgeRecording(tx, recording) : NOTHING_PURGED,
    )
    this.deps.webhookObserver.recordingDeleted(
      { accountId: recording.accountId, source: name, ...purged },
      log,
    )
  }

  /** A deleted account is refused in the transaction that would write for it. */
  #inTurn<T>(recording: RecordingRef, write: (tx: Tx) => Promise<T>): Promise<T> {
    return this.deps.db.transaction(async (tx) => {
      if (!(await lockRecording(tx, recording))) throw accountDeleted()
      return write(tx)
    })
  }
}

const NOTHING_PURGED = { purgedEvents: 0, cancelledDeliveries: 0 }

const accountDeleted = () =>
  new AppError('gone', 'account_deleted', 'This account was deleted, nothing can be stored for it')
