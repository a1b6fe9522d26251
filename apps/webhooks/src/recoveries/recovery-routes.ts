import { route, type Route } from '@signet/http'
import type { Request } from 'express'
import { parseDeliveryId } from '@signet/webhook-core'
import { cursorParameter, MAX_PAGE_SIZE, numberParameter, parseTime } from '../api/query.js'
import { oneItem, ref } from '../schemas/schema-parts.js'
import { responses } from '../api/v1-docs.js'
import { endpointIdOf, MAX_BODY_BYTES, type V1Steps } from '../api/v1-pipeline.js'
import type { Caller } from '../bearer/bearer-service.js'
import type { EndpointService } from '../endpoints/endpoint-service.js'
import { badRequest, notFound } from '../errors/api-errors.js'
import { RuleError } from '../errors/rule-error.js'
import { recoverDoc, recoverSchema, recoveryParameters } from './recovery-schemas.js'
import type { RecoveryService } from './recovery-service.js'

type Deps = { steps: V1Steps; endpoints: EndpointService; recoveries: RecoveryService }
type RecoverBody = { since: string; until?: string; what?: 'failed' | 'all' }
type Recovery = Awaited<ReturnType<RecoveryService['get']>>
type ListedRecovery = Omit<Recovery, 'delivered' | 'failed'>

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
        'Creates a new delivery of each matching event, with the same event id, a few at a time and behind live events. One at a time per webhook.',
      body: recoverDoc,
      responses: responses({ 200: one('Started') }, 400, 401, 403, 404, 409, 413, 429),
    },
    ...steps.write,
    guard: ({ caller, req }) => endpoints.requireOwned(caller.accountId, endpointIdOf(req)),
    body: { as: 'json', maxBytes: MAX_BODY_BYTES, schema: recoverSchema },
    async handle({ caller, body, req, context }) {
      const since = parseTime('since', body.since)
      const until = body.until === undefined ? undefined : parseTime('until', body.until)
      if (until !== undefined && since >= until) throw new RuleError('recovery.time')
      const { what = 'failed' } = body
      return {
        body: { item: view(await recoveries.start(ownerOf(caller, req), { what, since, until }, context)) },
      }
    },
  }),
  route<Caller>({
    method: 'get',
    path: '/v1/webhooks/:endpoint_id/recover',
    docs: {
      ...docs,
      operationId: 'listRecoveries',
      effect: 'read',
      summary: 'List recoveries',
      description:
        'Newest first. The last 100 are kept. Request a single one for the outcome of its deliveries.',
      parameters: recoveryParameters,
      responses: responses(
        { 200: { description: 'One page', schema: ref('RecoveryPage') } },
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
      const limit = numberParameter(req, 'page_size', { fallback: 20, max: MAX_PAGE_SIZE })
      const before = placeOf(cursorParameter(req))
      const { items, next } = await recoveries.list(ownerOf(caller, req), { before, limit })
      return { body: { items: items.map(listedView), next_cursor: next ?? '' } }
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
    ...steps.read,
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
      description: 'It creates no more deliveries. Those already queued are still sent.',
      responses: responses({ 200: one('Cancelled') }, 401, 403, 404, 409, 429),
    },
    ...steps.write,
    handle: async ({ caller, req, context }) => ({
      body: { item: view(await recoveries.cancel(ownerOf(caller, req), recoveryIdOf(req), context)) },
    }),
  }),
]

const ownerOf = ({ accountId }: Caller, req: Request) => ({ accountId, endpointId: endpointIdOf(req) })

/** Returns the id in the path. A malformed one is a 404. */
export function recoveryIdOf(req: Request): Recovery['id'] {
  const id = recoveryId(String(req.params['recovery_id']))
  if (id === null) throw notFound()
  return id
}

/** The cursor of a page is the id of the last recovery before it, which the reader has already seen. */
function placeOf(cursor: string | undefined): Recovery['id'] | null {
  if (cursor === undefined) return null
  const id = recoveryId(cursor)
  if (id === null) throw badRequest('cursor must be a next_cursor of this list')
  return id
}

// Ids of all kinds are numbers of the same size.
const recoveryId = (text: string) => parseDeliveryId(text) && (text as Recovery['id'])

const listedView = (recovery: ListedRecovery) => ({
  id: recovery.id,
  endpoint_id: recovery.endpointId,
  what: recovery.what,
  state: recovery.state,
  since: recovery.since.toISOString(),
  until: recovery.until.toISOString(),
  matched: recovery.matched,
  queued: recovery.queued,
  created_at: recovery.createdAt.toISOString(),
})

const view = (recovery: Recovery) => ({
  ...listedView(recovery),
  delivered: recovery.delivered,
  failed: recovery.failed,
})
