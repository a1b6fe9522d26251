import { route, type JsonSchema, type Route } from '@signet/http'
import type { Caller } from '../bearer/bearer-service.js'
import { ref } from '../schemas/schema-parts.js'
import { responses } from '../api/v1-docs.js'
import { endpointIdOf, MAX_BODY_BYTES, type V1Steps } from '../api/v1-pipeline.js'
import type { EndpointService } from './endpoint-service.js'
import { endpointView, oneEndpoint } from './endpoint-view.js'
import type { SecretService } from './secret-service.js'

type Deps = { steps: V1Steps; endpoints: EndpointService; secrets: SecretService }
type RotateBody = { activate_after_hours?: number }

const DEFAULT_HOURS = 24
const MAX_HOURS = 720
const rotateSchema: JsonSchema = {
  type: 'object',
  properties: {
    activate_after_hours: {
      type: 'integer',
      minimum: 0,
      maximum: MAX_HOURS,
      default: DEFAULT_HOURS,
      description: 'When the new secret replaces the current one by itself. 0: at once.',
    },
  },
}

const docs = { tag: 'Signing secrets', security: ['bearer'] }

/** `/v1/webhooks/{endpoint_id}/secret` (docs/specification.md#replacing-a-secret). */
export const secretRoutes = ({ steps, endpoints, secrets }: Deps): Route[] => [
  route<Caller, RotateBody>({
    method: 'post',
    path: '/v1/webhooks/:endpoint_id/secret/rotate',
    docs: {
      ...docs,
      operationId: 'rotateWebhookSecret',
      effect: 'renew',
      summary: 'Make the next secret',
      description:
        'Until it is active, `X-Service-Signature` is made with the current secret, and `webhook-signature` has one signature with each. Let receivers accept both, then activate it or wait. The body is optional.',
      responses: responses(
        { 200: { description: 'The next secret', schema: ref('NextSecret') } },
        400,
        401,
        403,
        404,
        409,
        413,
        429,
      ),
    },
    ...steps.write,
    guard: ({ caller, req }) => endpoints.requireOwned(caller.accountId, endpointIdOf(req)),
    body: { as: 'json', maxBytes: MAX_BODY_BYTES, schema: rotateSchema, optional: true },
    async handle({ caller, body, req, context }) {
      const id = endpointIdOf(req)
      const activateAfterHours = body.activate_after_hours ?? DEFAULT_HOURS
      const { secret, activatesAt } = await secrets.rotate(
        caller.accountId,
        id,
        { activateAfterHours },
        context,
      )
      return {
        body: { endpoint_id: id, secret, secret_activates_at: activatesAt?.toISOString() ?? '' },
      }
    },
  }),
  route<Caller>({
    method: 'post',
    path: '/v1/webhooks/:endpoint_id/secret/activate',
    docs: {
      ...docs,
      operationId: 'activateWebhookSecret',
      effect: 'remove',
      summary: 'Activate the next secret',
      description: 'From now on it is the only one.',
      responses: responses({ 200: oneEndpoint('Activated') }, 401, 403, 404, 409, 429),
    },
    ...steps.write,
    handle: async ({ caller, req, context }) => ({
      body: { item: endpointView(await secrets.activate(caller.accountId, endpointIdOf(req), context)) },
    }),
  }),
  route<Caller>({
    method: 'post',
    path: '/v1/webhooks/:endpoint_id/secret/cancel',
    docs: {
      ...docs,
      operationId: 'cancelWebhookSecret',
      effect: 'remove',
      summary: 'Cancel the next secret',
      description: 'The current one stays the only one. An active secret cannot be cancelled.',
      responses: responses({ 200: oneEndpoint('Cancelled') }, 401, 403, 404, 409, 429),
    },
    ...steps.write,
    handle: async ({ caller, req, context }) => ({
      body: { item: endpointView(await secrets.cancel(caller.accountId, endpointIdOf(req), context)) },
    }),
  }),
]
