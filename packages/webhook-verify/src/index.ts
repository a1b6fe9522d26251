export { deduplicate, type Claim, type DeduplicateOptions, type EventStore } from './deduplicate.js'
export {
  EventInProgressError,
  InvalidPayloadError,
  InvalidSecretError,
  MalformedHeaderError,
  MissingHeaderError,
  RawBodyRequiredError,
  SignatureMismatchError,
  TimestampInFutureError,
  TimestampTooOldError,
  type VerificationFailure,
  WebhookVerificationError,
} from './errors.js'
export type {
  EventEnvelope,
  Summary,
  SummaryCompletedData,
  SummaryCompletedEvent,
  Transcript,
  TranscriptSegment,
  UnknownEvent,
  WebhookEvent,
  WebhookPingEvent,
} from './events.js'
export {
  DELIVERY_HEADER,
  EVENT_HEADER,
  SIGNATURE_HEADER,
  TIMESTAMP_HEADER,
  type HeaderSource,
} from './headers.js'
export { MemoryEventStore, type MemoryEventStoreOptions } from './memory-event-store.js'
export { secretsOf, type Secret } from './secret.js'
export { sign, type SignedHeaders, type SignOptions } from './sign.js'
export type { RawBody } from './signature.js'
export { DEFAULT_TOLERANCE_SECONDS, verify, type VerifyOptions } from './verify.js'
