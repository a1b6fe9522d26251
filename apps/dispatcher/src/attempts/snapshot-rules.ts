import {
  endpointStatus,
  type CancelReason,
  type DeliveryId,
  type EndpointId,
  type EventId,
} from '@signet/webhook-core'
import type { DeliverySnapshot } from '../deliveries/delivery-store.js'

/** A delivery as its caller knows it. */
export type KnownDelivery = { id: DeliveryId; endpointId: EndpointId; eventId?: EventId }

/** After a failover the id may belong to a delivery that others work on. */
export const isSame = ({ endpoint, eventId }: DeliverySnapshot, known: KnownDelivery): boolean =>
  endpoint.id === known.endpointId && (known.eventId ?? eventId) === eventId

/**
 * Disabling, deleting and purging cancel pending deliveries themselves. This catches a delivery created at the same moment,
 * by a dispatch that still saw the endpoint active, and one that is attempted before it is cancelled.
 */
export function reasonToCancel({ endpoint, eventState }: DeliverySnapshot): CancelReason | null {
  if (endpoint.deleted) return 'endpoint_deleted'
  if (endpoint.status === endpointStatus.disabled) return 'endpoint_disabled'
  return eventState === 'purged' ? 'recording_deleted' : null
}

export const isBanned = ({ endpoint }: DeliverySnapshot, now: Date): boolean =>
  endpoint.heldUntil !== null && endpoint.heldUntil > now
