import type { Answer, Route } from '@signet/http'
import type { Request } from 'express'
import { endpointIdOf } from '../api/v1-pipeline.js'
import type { EndpointHealthService } from '../endpoints/endpoint-health-service.js'
import type { EndpointService } from '../endpoints/endpoint-service.js'
import { eventList } from '../endpoints/event-list.js'
import type { SecretService } from '../endpoints/secret-service.js'
import { badRequest } from '../errors/api-errors.js'
import type { TestEventService } from '../events/test-event-service.js'
import type { Limits } from '../limits/limits.js'
import type { Parameters } from '../oauth/parameters.js'
import {
  deletePage,
  endpointPage,
  endpointsPage,
  newEndpointPage,
  secretPage,
  type Typed,
} from './endpoint-pages.js'
import { orAgain, portalGet, portalPost, type PortalDeps, type Visit } from './portal-kit.js'

export type EndpointDeps = PortalDeps & {
  endpoints: EndpointService
  endpointHealth: EndpointHealthService
  secrets: SecretService
  testEvents: TestEventService
  limits: Pick<Limits, 'testEvents'>
}

/** What a waiting secret may be given, in hours. */
const ROTATIONS: Readonly<Record<string, number>> = { 0: 0, 24: 24, 168: 168 }

/** Endpoints: the rules are those of `/v1/webhooks`, whose services these pages call. */
export const endpointRoutes = (deps: EndpointDeps): Route[] => [
  portalGet(deps, '', 'Endpoints of the account', async (visit) =>
    endpointsPage(
      visit,
      await deps.endpoints.list(visit.accountId),
      await deps.endpointHealth.ofAccount(visit.accountId),
    ),
  ),
  portalGet(deps, '/endpoints/new', 'Add an endpoint', (visit) =>
    Promise.resolve(newEndpointPage(visit, { url: '', events: [] })),
  ),
  portalPost(deps, '/endpoints', 'Create an endpoint', (visit, fields) => {
    const typed = typedOf(fields)
    return orAgain(
      async () => {
        const input = { url: typed.url, events: eventList(typed.events) }
        const { endpoint, secret } = await deps.endpoints.create(visit.accountId, input, visit.meta)
        const explanation = 'With this secret your endpoint checks that events come from here.'
        return secretPage(visit, { id: endpoint.id, secret, explanation })
      },
      (notice, status) => newEndpointPage(visit, typed, { notice, status }),
    )
  }),
  portalGet(deps, '/endpoints/:endpoint_id', 'An endpoint', (visit) => showEndpoint(deps, visit)),
  onEndpoint(deps, '', 'Change an endpoint', (visit, fields) => {
    const typed = typedOf(fields)
    return orAgain(
      async () => {
        const input = { url: typed.url, events: eventList(typed.events) }
        const { id } = await deps.endpoints.update(
          visit.accountId,
          endpointIdOf(visit.req),
          input,
          visit.meta,
        )
        return visit.redirect(`/endpoints/${id}?done=saved`)
      },
      (notice, status) => showEndpoint(deps, visit, { notice, status, typed }),
    )
  }),
  onEndpoint(deps, '/enable', 'Enable an endpoint', async (visit) => {
    const { id } = await deps.endpoints.enable(visit.accountId, endpointIdOf(visit.req), visit.meta)
    return visit.redirect(`/endpoints/${id}?done=enabled`)
  }),
  onEndpoint(deps, '/test', 'Send a test event', async (visit) => {
    const id = endpointIdOf(visit.req)
    await deps.endpoints.requireOwned(visit.accountId, id)
    await deps.limits.testEvents.consume(id)
    const { eventId, queued } = await deps.testEvents.send(visit.accountId, id, visit.meta)
    return visit.redirect(
      queued
        ? `/endpoints/${id}/deliveries?event_id=${eventId}&done=tested`
        : `/endpoints/${id}?done=not_tested`,
    )
  }),
  onEndpoint(deps, '/secret/rotate', 'Make the next secret', async (visit, fields) => {
    const id = endpointIdOf(visit.req)
    const activateAfterHours = ROTATIONS[fields.get('hours') ?? '']
    if (activateAfterHours === undefined) throw badRequest('Choose when the new secret replaces the old one.')
    const { secret } = await deps.secrets.rotate(visit.accountId, id, { activateAfterHours }, visit.meta)
    const explanation =
      activateAfterHours === 0
        ? 'This secret signs all events from now on.'
        : `This secret replaces the current one in ${activateAfterHours} hours. Let your endpoint accept both until then.`
    return secretPage(visit, { id, secret, explanation })
  }),
  onEndpoint(deps, '/secret/activate', 'Activate the next secret', async (visit) => {
    const { id } = await deps.secrets.activate(visit.accountId, endpointIdOf(visit.req), visit.meta)
    return visit.redirect(`/endpoints/${id}?done=activated`)
  }),
  onEndpoint(deps, '/secret/cancel', 'Forget the next secret', async (visit) => {
    const { id } = await deps.secrets.cancel(visit.accountId, endpointIdOf(visit.req), visit.meta)
    return visit.redirect(`/endpoints/${id}?done=cancelled`)
  }),
  portalGet(deps, '/endpoints/:endpoint_id/delete', 'Ask before an endpoint is deleted', async (visit) =>
    deletePage(visit, await deps.endpoints.get(visit.accountId, endpointIdOf(visit.req))),
  ),
  onEndpoint(deps, '/delete', 'Delete an endpoint', async (visit) => {
    await deps.endpoints.remove(visit.accountId, endpointIdOf(visit.req), visit.meta)
    return visit.redirect('?done=deleted')
  }),
]

/** A form of one endpoint; what is refused leads back to it. */
export const onEndpoint = (
  deps: PortalDeps,
  below: string,
  summary: string,
  handle: (visit: Visit, fields: Parameters) => Promise<Answer>,
): Route =>
  portalPost(deps, `/endpoints/:endpoint_id${below}`, summary, handle, {
    back: (req: Request) => `/endpoints/${endpointIdOf(req)}`,
  })

async function showEndpoint(
  { endpoints, endpointHealth }: EndpointDeps,
  visit: Visit,
  refused: { notice?: string; status?: number; typed?: Typed } = {},
): Promise<Answer> {
  const endpoint = await endpoints.get(visit.accountId, endpointIdOf(visit.req))
  const health = await endpointHealth.ofAccount(visit.accountId)
  return endpointPage(visit, endpoint, health.get(endpoint.id), refused)
}

const typedOf = (fields: Parameters): Typed => ({
  url: (fields.get('url') ?? '').trim(),
  events: fields.all('events'),
})
