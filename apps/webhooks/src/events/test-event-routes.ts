import { route, type Route } from '@signet/http'
import type { Caller } from '../bearer/bearer-service.js'
import type { EndpointService } from '../endpoints/endpoint-service.js'
import type { Limits } from '../limits/limits.js'
import { eventId, object } from '../schemas/schema-parts.js'
import { responses } from '../api/v1-docs.js'
import { endpointIdOf, type V1Steps } from '../api/v1-pipeline.js'
import type { TestEventService } from './test-event-service.js'

type Deps = {
  steps: V1Steps
  limits: Pick<Limits, 'testEvents'>
  endpoints: EndpointService
  testEvents: TestEventService
}

/** `POST /v1/webhooks/{endpoint_id}/test` (docs/specification.md#test-events). */
export const testEventRoutes = ({ steps, limits, endpoints, testEvents }: Deps): Route[] => [
  route<Caller>({
    method: 'post',
    path: '/v1/webhooks/:endpoint_id/test',
    docs: {
      tag: 'Webhooks',
      security: ['bearer'],
      operationId: 'testWebhook',
      effect: 'add',
      summary: 'Send a test event',
      description:
        'Queues a signed `webhook.ping`, even if `events` does not list it. A body is ignored. `queued` is true when the event was accepted, not when it was delivered; it is false for a disabled webhook.',
      responses: responses(
        {
          200: {
            description: 'Accepted',
            schema: object({ event_id: eventId('The event'), queued: { type: 'boolean' } }),
          },
        },
        401,
        403,
        404,
        429,
      ),
    },
    ...steps.write,
    async guard({ caller, req }) {
      const id = endpointIdOf(req)
      await endpoints.requireOwned(caller.accountId, id)
      await limits.testEvents.consume(id)
    },
    async handle({ caller, req, context }) {
      const { eventId, queued } = await testEvents.send(caller.accountId, endpointIdOf(req), context)
      return { body: { event_id: eventId, queued } }
    },
  }),
]
