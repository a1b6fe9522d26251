import { route, type Route } from '@signet/http'
import { cursorParameter, MAX_PAGE_SIZE, numberParameter } from '../api/query.js'
import { oneItem, ref } from '../schemas/schema-parts.js'
import { responses } from '../api/v1-docs.js'
import { deliveryIdOf, endpointIdOf, type V1Steps } from '../api/v1-pipeline.js'
import type { Caller } from '../bearer/bearer-service.js'
import type { EndpointService } from '../endpoints/endpoint-service.js'
import { badRequest } from '../errors/api-errors.js'
import type { DeliveryLog } from './delivery-log.js'
import { filterOf } from './delivery-filter.js'
import { deliveryParameters, deliveryDetailView, deliveryView } from './delivery-schemas.js'
import type { ReplayService } from './replay-service.js'

type Deps = { steps: V1Steps; endpoints: EndpointService; deliveryLog: DeliveryLog; replays: ReplayService }

/** `GET /v1/webhooks/{endpoint_id}/deliveries` (docs/specification.md#delivery-log). */
export const deliveryRoutes = ({ steps, endpoints, deliveryLog, replays }: Deps): Route[] => [
  route<Caller>({
    method: 'get',
    path: '/v1/webhooks/:endpoint_id/deliveries',
    docs: {
      tag: 'Deliveries',
      security: ['bearer'],
      operationId: 'listDeliveries',
      effect: 'read',
      summary: 'List deliveries',
      description:
        'Newest first. Entries are kept for 30 days. A page beyond the end is empty. With a filter or for long logs, follow `next_cursor` until it is empty; a page may have fewer entries than requested, or none.',
      parameters: deliveryParameters,
      responses: responses(
        { 200: { description: 'One page', schema: ref('DeliveryPage') } },
        400,
        401,
        403,
        404,
        429,
      ),
    },
    ...steps.read,
    guard: ({ caller, req }) => endpoints.requireOwned(caller.accountId, endpointIdOf(req)),
    async handle({ caller, req }) {
      const owner = { accountId: caller.accountId, endpointId: endpointIdOf(req) }
      const limit = numberParameter(req, 'page_size', { fallback: 20, max: MAX_PAGE_SIZE })
      const page = numberParameter(req, 'page', { fallback: 1 })
      const filter = filterOf(req)
      const cursor = cursorParameter(req)
      if (cursor === undefined && Object.values(filter).every((value) => value === undefined)) {
        const { items, nextCursor } = await deliveryLog.page(owner, { page, pageSize: limit })
        return { body: { items: items.map(deliveryView), next_cursor: nextCursor } }
      }
      if (req.query['page'] !== undefined)
        throw badRequest('page does not go with filters or a cursor: follow next_cursor instead')
      const { items, nextCursor } = await deliveryLog.after(owner, filter, { cursor, limit })
      return { body: { items: items.map(deliveryView), next_cursor: nextCursor } }
    },
  }),
  route<Caller>({
    method: 'get',
    path: '/v1/webhooks/:endpoint_id/deliveries/:delivery_id',
    docs: {
      tag: 'Deliveries',
      security: ['bearer'],
      operationId: 'getDelivery',
      effect: 'read',
      summary: 'Get a delivery with its attempts',
      description: 'The result of each attempt, with the start of the response.',
      responses: responses({ 200: oneItem('The delivery', ref('DeliveryDetail')) }, 401, 403, 404, 429),
    },
    ...steps.read,
    guard: ({ caller, req }) => endpoints.requireOwned(caller.accountId, endpointIdOf(req)),
    async handle({ caller, req }) {
      const owner = { accountId: caller.accountId, endpointId: endpointIdOf(req) }
      return { body: { item: deliveryDetailView(await deliveryLog.detail(owner, deliveryIdOf(req))) } }
    },
  }),
  route<Caller>({
    method: 'post',
    path: '/v1/webhooks/:endpoint_id/deliveries/:delivery_id/replay',
    docs: {
      tag: 'Deliveries',
      security: ['bearer'],
      operationId: 'replayDelivery',
      effect: 'add',
      summary: 'Send an event again',
      description: 'A new delivery of the same event, with the same event id and bytes. A body is ignored.',
      responses: responses({ 200: oneItem('The new delivery', ref('Delivery')) }, 401, 403, 404, 409, 429),
    },
    ...steps.write,
    guard: ({ caller, req }) => endpoints.requireOwned(caller.accountId, endpointIdOf(req)),
    async handle({ caller, req, context }) {
      const owner = { accountId: caller.accountId, endpointId: endpointIdOf(req) }
      return { body: { item: deliveryView(await replays.replay(owner, deliveryIdOf(req), context)) } }
    },
  }),
]
