export {
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
export { secretsOf, type Secret } from './secret.js'
export { DEFAULT_TOLERANCE_SECONDS, verify, type RawBody, type VerifyOptions } from './verify.js'
