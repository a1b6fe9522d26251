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
export {
  type EventEnvelope,
  type Summary,
  type SummaryCompletedData,
  type SummaryCompletedEvent,
  type Transcript,
  type TranscriptSegment,
  type UnknownEvent,
  type WebhookEvent,
  type WebhookPingEvent,
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
