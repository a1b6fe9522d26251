import type { Route } from '@signet/http'
import { endpointIdOf } from '../api/v1-pipeline.js'
import type { EndpointHealthService } from '../endpoints/endpoint-health-service.js'
import type { EndpointService } from '../endpoints/endpoint-service.js'
import { eventList } from '../endpoints/event-list.js'
import type { SecretService } from '../endpoints/secret-service.js'
import type { TestEventService } from '../events/test-event-service.js'
import type { Limits } from '../limits/limits.js'
import type { Parameters } from '../oauth/parameters.js'
import { deletePage, endpointPage, endpointsPage, newEndpointPage, secretPage } from './endpoint-pages.js'
import { portalGet, portalPost, type Next, type PortalDeps } from './portal-kit.js'
import { chosenOf, inField } from './refusal.js'
import type { Visit } from './visit.js'

export type EndpointDeps = PortalDeps & {
  endpoints: EndpointService
  endpointHealth: EndpointHealthService
  secrets: SecretService
  testEvents: TestEventService
  limits: Pick<Limits, 'testEvents'>
}

/** After how many hours a pending secret may take effect. */
const ROTATIONS = [0, 24, 168] as const

/** Endpoints: the rules are those of `/v1/webhooks`, whose services these pages call. */
export const endpointRoutes = (deps: EndpointDeps): Route[] => [
  portalGet(deps, '', 'Endpoints of the account', async (visit) =>
    endpointsPage(
      visit,
      await deps.endpoints.list(visit.accountId),
      await deps.endpointHealth.ofAccount(visit.accountId),
    ),
  ),
  portalGet(deps, '/endpoints/new', 'Add an endpoint', (visit) => Promise.resolve(newEndpointPage(visit))),
  portalPost(
    deps,
    '/endpoints',
    'Create an endpoint',
    () => '/endpoints/new',
    async (visit, fields) => {
      const { endpoint, secret } = await inField('url', () =>
        deps.endpoints.create(visit.accountId, inputOf(visit, fields), visit.meta),
      )
      return { to: `/endpoints/${endpoint.id}/new-secret`, shown: { secret } }
    },
  ),
  portalGet(deps, '/endpoints/:endpoint_id', 'An endpoint', async (visit) => {
    const endpoint = await deps.endpoints.get(visit.accountId, endpointIdOf(visit.req))
    const health = await deps.endpointHealth.ofAccount(visit.accountId)
    return endpointPage(visit, endpoint, health.get(endpoint.id))
  }),
  onEndpoint(deps, '', 'Change an endpoint', async (visit, fields) => {
    const id = endpointIdOf(visit.req)
    await inField('url', () => deps.endpoints.update(visit.accountId, id, inputOf(visit, fields), visit.meta))
    return { to: `/endpoints/${id}?done=saved` }
  }),
  onEndpoint(deps, '/enable', 'Enable an endpoint', async (visit) => {
    const { id } = await deps.endpoints.enable(visit.accountId, endpointIdOf(visit.req), visit.meta)
    return { to: `/endpoints/${id}?done=enabled` }
  }),
  onEndpoint(deps, '/test', 'Send a test event', async (visit) => {
    const id = endpointIdOf(visit.req)
    await deps.endpoints.requireOwned(visit.accountId, id)
    await deps.limits.testEvents.consume(id)
    const { eventId, queued } = await deps.testEvents.send(visit.accountId, id, visit.meta)
    return {
      to: queued
        ? `/endpoints/${id}/deliveries?event_id=${eventId}&done=tested`
        : `/endpoints/${id}?done=not_tested`,
    }
  }),
  portalGet(deps, '/endpoints/:endpoint_id/new-secret', 'A new signing secret, once', async (visit) =>
    secretPage(visit, await deps.endpoints.get(visit.accountId, endpointIdOf(visit.req))),
  ),
  onEndpoint(deps, '/secret/rotate', 'Make the next secret', async (visit, fields) => {
    const id = endpointIdOf(visit.req)
    const activateAfterHours = chosenOf(fields, 'hours', ROTATIONS, 'portal.refusal.choose-rotation')
    const { secret } = await deps.secrets.rotate(visit.accountId, id, { activateAfterHours }, visit.meta)
    return { to: `/endpoints/${id}/new-secret`, shown: { secret, hours: String(activateAfterHours) } }
  }),
  onEndpoint(deps, '/secret/activate', 'Activate the next secret', async (visit) => {
    const { id } = await deps.secrets.activate(visit.accountId, endpointIdOf(visit.req), visit.meta)
    return { to: `/endpoints/${id}?done=activated` }
  }),
  onEndpoint(deps, '/secret/cancel', 'Forget the next secret', async (visit) => {
    const { id } = await deps.secrets.cancel(visit.accountId, endpointIdOf(visit.req), visit.meta)
    return { to: `/endpoints/${id}?done=cancelled` }
  }),
  portalGet(deps, '/endpoints/:endpoint_id/delete', 'Ask before an endpoint is deleted', async (visit) =>
    deletePage(visit, await deps.endpoints.get(visit.accountId, endpointIdOf(visit.req))),
  ),
  onEndpoint(deps, '/delete', 'Delete an endpoint', async (visit) => {
    await deps.endpoints.remove(visit.accountId, endpointIdOf(visit.req), visit.meta)
    return { to: '?done=deleted' }
  }),
]

/** A form of one endpoint; what is refused leads back to it. */
const onEndpoint = (
  deps: PortalDeps,
  below: string,
  summary: string,
  handle: (visit: Visit, fields: Parameters) => Promise<Next>,
): Route =>
  portalPost(
    deps,
    `/endpoints/:endpoint_id${below}`,
    summary,
    (req) => `/endpoints/${endpointIdOf(req)}`,
    handle,
  )

const inputOf = ({ t }: Visit, fields: Parameters) => ({
  language: t.language,
  url: (fields.get('url') ?? '').trim(),
  events: eventList(fields.all('events')),
})
