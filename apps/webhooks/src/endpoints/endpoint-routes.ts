import { route, type Route } from '@signet/http'
import type { Caller } from '../bearer/bearer-service.js'
import { listOf, object, ref } from '../schemas/schema-parts.js'
import { responses } from '../api/v1-docs.js'
import { endpointIdOf, MAX_BODY_BYTES, type V1Steps } from '../api/v1-pipeline.js'
import {
  createEndpointDoc,
  createEndpointSchema,
  updateEndpointDoc,
  updateEndpointSchema,
  type CreateEndpointBody,
  type UpdateEndpointBody,
} from './endpoint-schemas.js'
import type { EndpointService } from './endpoint-service.js'
import { endpointView, oneEndpoint } from './endpoint-view.js'
import { eventList } from './event-list.js'

type Deps = { steps: V1Steps; endpoints: EndpointService }

const docs = { tag: 'Webhooks', security: ['bearer'] }

/** The operations that a client can call next with the endpoint that it created. */
const FROM_CREATED = Object.fromEntries(
  ['getWebhook', 'updateWebhook', 'testWebhook', 'listDeliveries', 'deleteWebhook'].map((operationId) => [
    operationId,
    { endpoint_id: 'endpoint_id' },
  ]),
)

/** Routes of `/v1/webhooks` (docs/specification.md#creating-a-webhook and the sections after it). */
export const endpointRoutes = ({ steps, endpoints }: Deps): Route[] => [
  route<Caller, CreateEndpointBody>({
    method: 'post',
    path: '/v1/webhooks',
    docs: {
      ...docs,
      operationId: 'createWebhook',
      effect: 'add',
      summary: 'Create a webhook',
      description:
        'At most 5 per account; disabled ones count until they are deleted. There is no idempotency key: if a response is lost, list before creating again.',
      body: createEndpointDoc,
      responses: responses(
        { 200: { description: 'Created', schema: ref('CreatedWebhook'), links: FROM_CREATED } },
        400,
        401,
        403,
        413,
        429,
      ),
    },
    ...steps.write,
    body: { as: 'json', maxBytes: MAX_BODY_BYTES, schema: createEndpointSchema },
    async handle({ caller, body, context }) {
      const { endpoint, secret } = await endpoints.create(
        caller.accountId,
        { url: body.url, events: eventList(body.events) },
        context,
      )
      const { id, url, events, status } = endpoint
      return { status: 200, body: { endpoint_id: id, secret, url, events, status } }
    },
  }),
  route<Caller>({
    method: 'get',
    path: '/v1/webhooks',
    docs: {
      ...docs,
      operationId: 'listWebhooks',
      effect: 'read',
      summary: 'List webhooks',
      description: 'All of the account, oldest first, without their secrets.',
      responses: responses(
        { 200: { description: 'The webhooks', schema: object({ items: listOf(ref('Webhook')) }) } },
        401,
        403,
        429,
      ),
    },
    ...steps.read,
    handle: async ({ caller }) => ({
      body: { items: (await endpoints.list(caller.accountId)).map(endpointView) },
    }),
  }),
  route<Caller>({
    method: 'get',
    path: '/v1/webhooks/:endpoint_id',
    docs: {
      ...docs,
      operationId: 'getWebhook',
      effect: 'read',
      summary: 'Get a webhook',
      responses: responses({ 200: oneEndpoint('The webhook') }, 401, 403, 404, 429),
    },
    ...steps.read,
    handle: async ({ caller, req }) => ({
      body: { item: endpointView(await endpoints.get(caller.accountId, endpointIdOf(req))) },
    }),
  }),
  route<Caller, UpdateEndpointBody>({
    method: 'patch',
    path: '/v1/webhooks/:endpoint_id',
    docs: {
      ...docs,
      operationId: 'updateWebhook',
      effect: 'replace',
      summary: 'Change a webhook',
      description:
        'Leaving `events` out clears them, so send the current ones again even to change only the url. A changed url re-enables a disabled webhook and resets its failure count. The secret stays.',
      body: updateEndpointDoc,
      responses: responses({ 200: oneEndpoint('Changed') }, 400, 401, 403, 404, 413, 429),
    },
    ...steps.write,
    guard: ({ caller, req }) => endpoints.requireOwned(caller.accountId, endpointIdOf(req)),
    body: { as: 'json', maxBytes: MAX_BODY_BYTES, schema: updateEndpointSchema },
    async handle({ caller, body, req, context }) {
      const endpoint = await endpoints.update(
        caller.accountId,
        endpointIdOf(req),
        { url: body.url || undefined, events: eventList(body.events) },
        context,
      )
      return { body: { item: endpointView(endpoint) } }
    },
  }),
  route<Caller>({
    method: 'post',
    path: '/v1/webhooks/:endpoint_id/enable',
    docs: {
      ...docs,
      operationId: 'enableWebhook',
      effect: 'restore',
      summary: 'Enable a webhook',
      description:
        'At the same url, with a failure count of 0. Failures of attempts that began before do not count. Deliveries that have ended stay ended. An active one stays active, and its count is reset.',
      responses: responses({ 200: oneEndpoint('Enabled') }, 401, 403, 404, 429),
    },
    ...steps.write,
    handle: async ({ caller, req, context }) => ({
      body: { item: endpointView(await endpoints.enable(caller.accountId, endpointIdOf(req), context)) },
    }),
  }),
  route<Caller>({
    method: 'delete',
    path: '/v1/webhooks/:endpoint_id',
    docs: {
      ...docs,
      operationId: 'deleteWebhook',
      effect: 'remove',
      summary: 'Delete a webhook',
      description: 'Frees its place in the quota at once. Deliveries still pending are cancelled.',
      responses: responses({ 200: { description: 'Deleted', schema: ref('Ok') } }, 401, 403, 404, 429),
    },
    ...steps.write,
    async handle({ caller, req, context }) {
      await endpoints.remove(caller.accountId, endpointIdOf(req), context)
      return { body: { ok: true } }
    },
  }),
]
