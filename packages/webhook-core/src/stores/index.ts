/**
 * The SQL that both apps need, and the API's SQL that locks rows that a dispatcher works on
 * (packages/webhook-core/README.md#lock-order). PostgreSQL is the source of truth for events, deliveries and endpoints; the queue is a
 * schedule that may be lost.
 */
export { writeTombstone, countAccountRows, moveHeldDeliveries, releasedDeliveries } from './account-store.js'
export { cancelBacklog, type BacklogPosition } from './backlog-store.js'
export { findEndpointHealth, listEndpointHealth, type EndpointHealth } from './endpoint-health-store.js'
export {
  deleteEndpoint,
  enableEndpoint,
  ENABLING,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  patchEndpoint,
  type Endpoint,
} from './endpoint-store.js'
export {
  closeAccount,
  deleteAccountEndpoints,
  deleteAccountEvents,
  endAccountEndpoints,
  purgeRecording,
} from './purge-store.js'
export { findGivenParts } from './given-parts-store.js'
export { whileLocked } from './locked-store.js'
export {
  ENRICHMENT_TIMEOUT_MS,
  readRecordings,
  recordingReader,
  type RecordingReader,
} from './recording-reader.js'
export { creatingReplays, isRecoverable, type RecoveryScope } from './replay-store.js'
export { activateNextSecret, cancelNextSecret, SECRETS_NOW, storeNextSecret } from './secret-store.js'
export type {
  RecordingContent,
  RecordingFields,
  RecordingRef,
  SummaryFields,
  TranscriptFields,
} from '../recordings/recording-content.js'
