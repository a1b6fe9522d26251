import { type Db, type Tx } from '@signet/db'
import { AppError } from '@signet/errors'
import { type Logger } from '@signet/telemetry'
import {
  ingestSummary,
  lockRecording,
  newEventId,
  purgeRecording,
  putRecording,
  type EncodedParts,
  type EventId,
  type RecordingRef,
} from '@signet/webhook-core'
import { type EventAnnouncer } from '../events/event-announcer.js'
import { type WebhookEvents } from '../events/webhook-events.js'
import { type SummaryReady } from './ingest-body.js'
import { type ServiceCaller } from './service-caller.js'

type Deps = { db: Db; announcer: EventAnnouncer; webhookEvents: WebhookEvents; now: () => Date }

/** What the recording pipeline tells us (webhooks contract G.1). Account ids are trusted from these callers. */
export class IngestService {
  constructor(private readonly deps: Deps) {}

  /** Stores recording and event together, once per caller and key. */
  async summaryReady(
    { name }: ServiceCaller,
    { sourceEventKey, accountId, audioId, hash, parts }: SummaryReady,
    log: Logger,
  ): Promise<{ eventId: EventId; duplicate: boolean }> {
    const { announcer, webhookEvents, now } = this.deps
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
      webhookEvents.summaryConflicted({ source: name, accountId }, log)
      throw new AppError('conflict', 'conflict', 'This source_event_key came with other content before')
    }
    const { eventId } = result
    if (result.kind === 'duplicate') {
      webhookEvents.summaryRepeated({ eventId, source: name, accountId }, log)
      return { eventId, duplicate: true }
    }
    announcer.announce(eventId)
    webhookEvents.summaryIngested({ eventId, source: name, accountId }, log)
    return { eventId, duplicate: false }
  }

  async putRecording(
    { name }: ServiceCaller,
    recording: RecordingRef,
    parts: EncodedParts,
    log: Logger,
  ): Promise<void> {
    await this.#inTurn(recording, (tx) => putRecording(tx, { ...recording, ...parts }))
    this.deps.webhookEvents.recordingStored({ accountId: recording.accountId, source: name }, log)
  }

  /** With what was made of it: the bodies of its events; deliveries still pending end. */
  async deleteRecording({ name }: ServiceCaller, recording: RecordingRef, log: Logger): Promise<void> {
    const purged = await this.#inTurn(recording, (tx) => purgeRecording(tx, recording))
    this.deps.webhookEvents.recordingDeleted({ accountId: recording.accountId, source: name, ...purged }, log)
  }

  #inTurn<T>(recording: RecordingRef, write: (tx: Tx) => Promise<T>): Promise<T> {
    return this.deps.db.transaction(async (tx) => {
      await lockRecording(tx, recording)
      return write(tx)
    })
  }
}
