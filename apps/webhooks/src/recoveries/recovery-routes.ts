import { route, type JsonSchema, type Route } from '@signet/http'
import type { Request } from 'express'
import { parseDeliveryId } from '@signet/webhook-core'
import { parseTime } from '../api/query.js'
import { count, id, object, oneItem, ref, time } from '../schemas/schema-parts.js'
import { responses } from '../api/v1-docs.js'
import { endpointIdOf, type V1Steps } from '../api/v1-pipeline.js'
import type { Caller } from '../bearer/bearer-service.js'
import type { EndpointService } from '../endpoints/endpoint-service.js'
import { badRequest, notFound } from '../errors/api-errors.js'
import type { RecoveryService } from './recovery-service.js'

type Deps = { steps: V1Steps; endpoints: EndpointService; recoveries: RecoveryService }
type RecoverBody = { since: string; until?: string; what?: 'failed' | 'all' }
type Recovery = Awaited<ReturnType<RecoveryService['get']>>

// The formats are checked by the handler, with better words.
const recoverSchema: JsonSchema = {
  type: 'object',
  required: ['since'],
  properties: {
    since: { type: 'string' },
    until: { type: 'string' },
    what: { type: 'string', enum: ['failed', 'all'] },
  },
}

const what = { type: 'string', enum: ['failed', 'all'] }
const recoverDoc = object({
  since: { ...time, description: 'Deliveries created at this time or later' },
  'until?': {
    ...time,
    description: 'And before this time; now, if left out',
    examples: ['2026-02-01T00:00:00Z'],
  },
  'what?': {
    ...what,
    default: 'failed',
    description: '`failed`: events that never arrived. `all`: those that did, too.',
  },
})

/** Components of the OpenAPI document. */
export const recoveryComponents: Readonly<Record<string, JsonSchema>> = {
  Recovery: object({
    id: id('The recovery', '12'),
    endpoint_id: id('The subscription'),
    what,
    state: {
      type: 'string',
      enum: ['running', 'done', 'cancelled', 'stopped'],
      description: '`done`: all are queued. `stopped`: the subscription was disabled or deleted.',
    },
    since: time,
    until: time,
    matched: count('Events to send again, counted at the start; more when pending ones end while it runs', 3),
    queued: count('New deliveries so far'),
    delivered: count('Of these, delivered'),
    failed: count('Of these, failed for good'),
    created_at: time,
  }),
}

const docs = { tag: 'Recovery', security: ['bearer'] }
const one = (description: string) => oneItem(description, ref('Recovery'))

/** `/v1/webhooks/{endpoint_id}/recover` (docs/specification.md#recovering). */
export const recoveryRoutes = ({ steps, endpoints, recoveries }: Deps): Route[] => [
  route<Caller, RecoverBody>({
    method: 'post',
    path: '/v1/webhooks/:endpoint_id/recover',
    docs: {
      ...docs,
      operationId: 'startRecovery',
      effect: 'add',
      summary: 'Send again what was missed',
      description:
        'Makes a new delivery of each event that matches, with the same event id, a little at a time and behind live events. One at a time per subscription.',
      body: recoverDoc,
      responses: responses({ 200: one('Started') }, 400, 401, 403, 404, 409, 413, 429),
    },
    authenticate: steps.write,
    guard: ({ caller, req }) => endpoints.requireOwned(caller.accountId, endpointIdOf(req)),
    body: { as: 'json', maxBytes: 1024, schema: recoverSchema },
    async handle({ caller, body, req, context }) {
      const since = parseTime('since', body.since)
      const until = body.until === undefined ? undefined : parseTime('until', body.until)
      if (since >= (until ?? new Date().toISOString()))
        throw badRequest('since must be earlier than until and now')
      const { what = 'failed' } = body
      return {
        body: { item: view(await recoveries.start(ownerOf(caller, req), { what, since, until }, context)) },
      }
    },
  }),
  route<Caller>({
    method: 'get',
    path: '/v1/webhooks/:endpoint_id/recover/:recovery_id',
    docs: {
      ...docs,
      operationId: 'getRecovery',
      effect: 'read',
      summary: 'Get a recovery',
      responses: responses({ 200: one('The recovery') }, 401, 403, 404, 429),
    },
    authenticate: steps.read,
    handle: async ({ caller, req }) => ({
      body: { item: view(await recoveries.get(ownerOf(caller, req), recoveryIdOf(req))) },
    }),
  }),
  route<Caller>({
    method: 'delete',
    path: '/v1/webhooks/:endpoint_id/recover/:recovery_id',
    docs: {
      ...docs,
      operationId: 'cancelRecovery',
      effect: 'remove',
      summary: 'Cancel a recovery',
      description: 'It makes no more deliveries. Those that it has queued are still sent.',
      responses: responses({ 200: one('Cancelled') }, 401, 403, 404, 409, 429),
    },
    authenticate: steps.write,
    handle: async ({ caller, req, context }) => ({
      body: { item: view(await recoveries.cancel(ownerOf(caller, req), recoveryIdOf(req), context)) },
    }),
  }),
]

const ownerOf = ({ accountId }: Caller, req: Request) => ({ accountId, endpointId: endpointIdOf(req) })

/** The id in the path; what cannot be one does not exist. */
export function recoveryIdOf(req: Request): Recovery['id'] {
  const id = String(req.params['recovery_id'])
  // Ids of all kinds are numbers of the same size.
  if (parseDeliveryId(id) === null) throw notFound()
  return id as Recovery['id']
}

const view = (recovery: Recovery) => ({
  id: recovery.id,
  endpoint_id: recovery.endpointId,
  what: recovery.what,
  state: recovery.state,
  since: recovery.since.toISOString(),
  until: recovery.until.toISOString(),
  matched: recovery.matched,
  queued: recovery.queued,
  delivered: recovery.delivered,
  failed: recovery.failed,
  created_at: recovery.createdAt.toISOString(),
})
