/**
 * What the webhooks API and the dispatcher share. PostgreSQL is the source of truth for events, deliveries and endpoints;
 * the queue is a schedule that may be lost.
 */
export {
  firstEventIdAt,
  newEventId,
  parseDeliveryId,
  parseEndpointId,
  parseEventId,
  type DeliveryId,
  type EndpointId,
  type EventId,
} from './ids.js'
export {
  dataSchema,
  definitionOf,
  eventTypes,
  isEventType,
  sampleEvent,
  type EventType,
} from './events/catalogue.js'
export { type EventDefinition } from './events/event-definition.js'
export { PAYLOAD_TARGET_BYTES, SAMPLES_TARGET_BYTES } from './events/target-size.js'

export {
  deliveryHeaders,
  newSigningSecret,
  sign,
  type DeliveryHeaders,
  type SignedContent,
} from './signature/signature.js'
export {
  endpointSecretContext,
  SecretBox,
  SecretKeysError,
  SecretUnreadableError,
  type SealedSecret,
} from './signature/secret-box.js'

export { DEFAULT_RETRY_DELAYS_SECONDS, RetrySchedule } from './delivery/retry-schedule.js'
export {
  countsAgainstEndpoint,
  type CancelReason,
  type FailureReason,
  type AttemptFailure,
} from './delivery/failure-reasons.js'

export {
  buryAccount,
  countAccountRows,
  findAccountState,
  findUnpurgedAccounts,
  holdDelivery,
  isOfDeletedAccount,
  markPurged,
  moveHeldDeliveries,
  type AccountState,
} from './stores/account-store.js'
export {
  countDisabledEndpoints,
  deleteEndpoint,
  endpointStatus,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  patchEndpoint,
  type Endpoint,
  type EndpointPatch,
  type EndpointStatus,
  type NewEndpoint,
} from './stores/endpoint-store.js'
export {
  concludeFirstAttempts,
  dispatchEvents,
  findOpenFirstAttempts,
  scheduleDeliveries,
  type Dispatched,
  type EncodedEvent,
  type UnfinishedDelivery,
} from './stores/dispatch-store.js'
export {
  findBodies,
  findEvents,
  findForgottenEvents,
  findRecentBodies,
  ingestSummary,
  insertPing,
  type EventState,
  type ForgottenEvent,
  type FrozenEvent,
  type IngestedSummary,
  type IngestResult,
  type QueuedEvent,
} from './stores/event-store.js'
export {
  cancelDelivery,
  deliveryStatus,
  findAttemptPlans,
  findOverdueDeliveries,
  readBacklog,
  type AttemptPlan,
  type Backlog,
  type DeliveryStatus,
  type OverdueDelivery,
} from './stores/delivery-store.js'
export { DeliveryPager, type Delivery } from './stores/delivery-pager.js'
export {
  FAILURES_TO_DISABLE,
  listAttempts,
  recordAttempts,
  type Attempt,
  type AttemptResult,
  type Outcome,
  type RecordedAttempt,
} from './stores/attempt-store.js'
export {
  findRecentlySummarised,
  findRecordings,
  findSummaries,
  findTranscripts,
  lockRecording,
  putRecording,
  type EncodedParts,
  type MirrorChange,
  type RecordingFields,
  type RecordingParts,
  type RecordingRef,
  type SummaryFields,
  type TranscriptFields,
  type TranscriptSegment,
} from './stores/recording-store.js'
export { storable } from './stores/text.js'
export {
  closeAccount,
  deleteAccountEndpoints,
  deleteAccountEvents,
  deleteOldEndpoints,
  deleteOldEvents,
  purgeRecording,
} from './stores/purge-store.js'
export {
  findReplayable,
  replayDeliveries,
  type Replayable,
  type ReplayRequest,
  type ReplayTarget,
} from './stores/replay-store.js'
export {
  enableEndpoint,
  findBusiestEndpoints,
  findDeliveryReport,
  findSecretsOfOtherKeys,
  listDisabledEndpoints,
  listOperatorActions,
  recordAction,
  readSwitch,
  readUndispatched,
  replaceSealedSecret,
  setPaused,
  type BusyEndpoint,
  type DeliveryReport,
  type DisabledEndpoint,
  type OperatorAction,
  type Undispatched,
  type Switch,
} from './stores/operator-store.js'

export {
  ENRICHMENT_TIMEOUT_MS,
  readRecordings,
  recordingReader,
  type RecordingContent,
  type RecordingPart,
  type RecordingReader,
} from './recordings/recording-reader.js'

export { connectRedis, type RedisRole, type RedisSettings } from './queue/redis-connection.js'
export {
  DEFAULT_QUEUE_PREFIX,
  DELIVERY_BACKOFF,
  deliveryJobId,
  eventJobId,
  queueNames,
  WebhookQueues,
  type DeliveryJob,
  type DueDelivery,
  type EventJob,
  type QueueSettings,
} from './queue/queues.js'
