import { route, type Route } from '@signet/http'
import type { Delivery, DeliveryPager } from './delivery-pager.js'
import type { Caller } from '../bearer/bearer-service.js'
import type { EndpointService } from '../endpoints/endpoint-service.js'
import { numberParameter } from '../api/query.js'
import { ref, responses } from '../api/v1-docs.js'
import { endpointIdOf, type V1Steps } from '../api/v1-pipeline.js'

type Deps = { steps: V1Steps; endpoints: EndpointService; deliveryLog: DeliveryPager }

/** `GET /v1/webhooks/{endpoint_id}/deliveries` (docs/specification.md#delivery-log). */
export const deliveryRoutes = ({ steps, endpoints, deliveryLog }: Deps): Route[] => [
  route<Caller>({
    method: 'get',
    path: '/v1/webhooks/:endpoint_id/deliveries',
    docs: {
      tag: 'Deliveries',
      security: ['bearer'],
      summary: 'List deliveries',
      description: 'Newest first. Entries are kept for 30 days. A page beyond the end is empty.',
      parameters: [
        {
          name: 'page',
          in: 'query',
          schema: { type: 'integer', minimum: 1, maximum: 999_999, default: 1 },
          description: 'Counted from 1.',
        },
        {
          name: 'page_size',
          in: 'query',
          schema: { type: 'integer', minimum: 1, default: 20 },
          description: 'At most 100; more counts as 100.',
        },
      ],
      responses: responses(
        {
          200: {
            description: 'One page',
            schema: {
              type: 'object',
              required: ['items'],
              properties: { items: { type: 'array', items: ref('Delivery') } },
            },
          },
        },
        400,
        401,
        403,
        404,
        429,
      ),
    },
    authenticate: steps.read,
    guard: ({ caller, req }) => endpoints.requireOwned(caller.accountId, endpointIdOf(req)),
    async handle({ caller, req }) {
      const page = numberParameter(req, 'page', { fallback: 1 })
      const pageSize = numberParameter(req, 'page_size', { fallback: 20, max: 100 })
      const owner = { accountId: caller.accountId, endpointId: endpointIdOf(req) }
      const deliveries = await deliveryLog.page(owner, { page, pageSize })
      return { body: { items: deliveries.map(view) } }
    },
  }),
]

const view = (delivery: Delivery) => ({
  id: delivery.id,
  endpoint_id: delivery.endpointId,
  event_id: delivery.eventId,
  event_type: delivery.eventType,
  status: delivery.status,
  attempts: delivery.attempts,
  last_error: delivery.lastError,
  delivered_at: delivery.deliveredAt?.toISOString() ?? '',
  created_at: delivery.createdAt.toISOString(),
})
