/**
 * What the webhooks API and the dispatcher share. PostgreSQL is the truth about events, deliveries and endpoints;
 * the queue is a schedule that may be lost. Contract sections are those of the webhooks service.
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
export { eventTypes, isEventType, type EventType } from './event-types.js'

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

export {
  AddressGuard,
  BlockedAddressError,
  guardedAgent,
  guardedConnector,
  isPublicAddress,
  NameNotResolvedError,
  type AddressGuardOptions,
  type GuardedAgentOptions,
  type ResolvedAddress,
  type Resolver,
} from '@signet/address-guard'
export {
  parsePortRanges,
  UrlPolicy,
  UrlRefusedError,
  type AcceptedUrl,
  type PortRange,
  type UrlPolicyOptions,
} from './address/url-policy.js'

export { RetrySchedule, type RetryScheduleOptions } from './delivery/retry-schedule.js'
export {
  countsAgainstEndpoint,
  failureWordOf,
  type CancelWord,
  type ErrorWord,
  type FailureWord,
} from './delivery/error-words.js'
export { decide, type Outcome, type SendResult } from './delivery/outcome.js'

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
  type LeftDelivery,
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
  type RecordedAttempt,
} from './stores/attempt-store.js'
export {
  findRecentlySummarised,
  findRecordings,
  findSummaries,
  findTranscripts,
  lockAccount,
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
  noteAction,
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

export { BodyBuilder, type BodyBuilderOptions, type PayloadProblem } from './payload/body-builder.js'
export {
  MarkdownConverter,
  type MarkdownConverterOptions,
  type MarkdownFailure,
  type MarkdownOutcome,
} from './payload/markdown-converter.js'
export { ENRICHMENT_TIMEOUT_MS, type MirrorReader } from './payload/mirror-reader.js'
export { recordingSamples } from './payload/recording-samples.js'
export { PAYLOAD_TARGET_BYTES } from './payload/target-size.js'

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
