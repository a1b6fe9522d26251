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
