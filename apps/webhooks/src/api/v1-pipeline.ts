import { parseDeliveryId, parseEndpointId, type DeliveryId, type EndpointId } from '@signet/webhook-core'
import type { Request } from 'express'
import type { Authenticate } from '../bearer/bearer-authentication.js'
import { notFound } from '../errors/api-errors.js'
import type { Limits } from '../limits/limits.js'

/** The first steps of every /v1 route: authentication and rate limits (docs/specification.md#common-rules). */
export function v1Steps(bearer: Authenticate, limits: Pick<Limits, 'v1' | 'v1Writes'>) {
  const read: Authenticate = async (req, context) => {
    const caller = await bearer(req, context)
    await limits.v1.consume(caller.accountId)
    return caller
  }
  const write: Authenticate = async (req, context) => {
    const caller = await read(req, context)
    await limits.v1Writes.consume(caller.accountId)
    return caller
  }
  return { read: { authenticate: read }, write: { authenticate: write, authenticateAgain: bearer } }
}
export type V1Steps = ReturnType<typeof v1Steps>

/** Of every body (docs/specification.md#common-rules). */
export const MAX_BODY_BYTES = 65_536

/** Returns the id in the path. Anything that cannot be an id is a 404, never a 400 (docs/specification.md#common-rules). */
export function endpointIdOf(req: Request): EndpointId {
  const id = parseEndpointId(String(req.params['endpoint_id']))
  if (id === null) throw notFound()
  return id
}

/** The same for a delivery. */
export function deliveryIdOf(req: Request): DeliveryId {
  const id = parseDeliveryId(String(req.params['delivery_id']))
  if (id === null) throw notFound()
  return id
}
