/** What the webhooks API and the dispatcher agree on: ids, events, the signature, and the rules of deliveries (decision 0143). */
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
  definitionOf,
  eventSchema,
  eventTypes,
  isEventType,
  sampleEvent,
  type EventCatalogue,
  type EventType,
} from './events/catalogue.js'
export type { EventDefinition, EventHeader } from './events/event-definition.js'
export { isHtml } from './events/html.js'
export { PAYLOAD_TARGET_BYTES } from './recordings/target-size.js'

export { newSigningSecret } from './signature/signature.js'
export {
  endpointSecretContext,
  SecretBox,
  SecretUnreadableError,
  type SealedSecret,
} from './signature/secret-box.js'

export { DEFAULT_RETRY_DELAYS_SECONDS, RetrySchedule } from './delivery/retry-schedule.js'
export { FAILURES_TO_DISABLE, FAILURES_TO_WARN } from './delivery/disabling.js'
export {
  countsAgainstEndpoint,
  tlsProblems,
  type AttemptFailure,
  type CancelReason,
  type FailureReason,
  type TlsProblem,
} from './delivery/failure-reasons.js'
export {
  deliveryStatus,
  endpointStatus,
  type DeliveryStatus,
  type EndpointStatus,
  type EventState,
} from './delivery/states.js'
