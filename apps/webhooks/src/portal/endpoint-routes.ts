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
import type { PortalContext } from './portal-context.js'

export type EndpointDeps = PortalDeps & {
  endpoints: EndpointService
  endpointHealth: EndpointHealthService
  secrets: SecretService
  testEvents: TestEventService
  limits: Pick<Limits, 'testEvents'>
}

/** The hours after which a pending secret may take effect. */
const ROTATIONS = [0, 24, 168] as const

/** Has room for the longest URL that `/v1` takes: 2048 characters, each of up to 12 percent-encoded bytes. */
const MAX_BYTES = 32 * 1024

/** Pages for endpoints. They call the services of `/v1/webhooks`, so the same rules apply. */
export const endpointRoutes = (deps: EndpointDeps): Route[] => [
  portalGet(deps, '', 'Endpoints of the account', async (portal) =>
    endpointsPage(
      portal,
      await deps.endpoints.list(portal.accountId),
      await deps.endpointHealth.ofAccount(portal.accountId),
    ),
  ),
  portalGet(deps, '/endpoints/new', 'Add an endpoint', (portal) => Promise.resolve(newEndpointPage(portal))),
  portalPost(
    deps,
    '/endpoints',
    'Create an endpoint',
    () => '/endpoints/new',
    async (portal, fields) => {
      const { endpoint, secret } = await inField('url', () =>
        deps.endpoints.create(portal.accountId, inputOf(portal, fields), portal.meta),
      )
      return { to: `/endpoints/${endpoint.id}/new-secret`, shown: { secret } }
    },
    MAX_BYTES,
  ),
  portalGet(deps, '/endpoints/:endpoint_id', 'An endpoint', async (portal) => {
    const endpoint = await deps.endpoints.get(portal.accountId, endpointIdOf(portal.req))
    const health = await deps.endpointHealth.ofAccount(portal.accountId)
    return endpointPage(portal, endpoint, health.get(endpoint.id))
  }),
  onEndpoint(
    deps,
    '',
    'Change an endpoint',
    async (portal, fields) => {
      const id = endpointIdOf(portal.req)
      await inField('url', () =>
        deps.endpoints.update(portal.accountId, id, inputOf(portal, fields), portal.meta),
      )
      return { to: `/endpoints/${id}?done=saved` }
    },
    MAX_BYTES,
  ),
  onEndpoint(deps, '/enable', 'Enable an endpoint', async (portal) => {
    const { id } = await deps.endpoints.enable(portal.accountId, endpointIdOf(portal.req), portal.meta)
    return { to: `/endpoints/${id}?done=enabled` }
  }),
  onEndpoint(deps, '/test', 'Send a test event', async (portal) => {
    const id = endpointIdOf(portal.req)
    await deps.endpoints.requireOwned(portal.accountId, id)
    await deps.limits.testEvents.consume(id)
    const { eventId, queued } = await deps.testEvents.send(portal.accountId, id, portal.meta)
    return {
      to: queued
        ? `/endpoints/${id}/deliveries?event_id=${eventId}&done=tested`
        : `/endpoints/${id}?done=not_tested`,
    }
  }),
  portalGet(deps, '/endpoints/:endpoint_id/new-secret', 'A new signing secret, once', async (portal) =>
    secretPage(portal, await deps.endpoints.get(portal.accountId, endpointIdOf(portal.req))),
  ),
  onEndpoint(deps, '/secret/rotate', 'Make the next secret', async (portal, fields) => {
    const id = endpointIdOf(portal.req)
    const activateAfterHours = chosenOf(fields, 'hours', ROTATIONS, 'portal.refusal.choose-rotation')
    const { secret } = await deps.secrets.rotate(portal.accountId, id, { activateAfterHours }, portal.meta)
    return { to: `/endpoints/${id}/new-secret`, shown: { secret, hours: String(activateAfterHours) } }
  }),
  onEndpoint(deps, '/secret/activate', 'Activate the next secret', async (portal) => {
    const { id } = await deps.secrets.activate(portal.accountId, endpointIdOf(portal.req), portal.meta)
    return { to: `/endpoints/${id}?done=activated` }
  }),
  onEndpoint(deps, '/secret/cancel', 'Forget the next secret', async (portal) => {
    const { id } = await deps.secrets.cancel(portal.accountId, endpointIdOf(portal.req), portal.meta)
    return { to: `/endpoints/${id}?done=cancelled` }
  }),
  portalGet(deps, '/endpoints/:endpoint_id/delete', 'Ask before an endpoint is deleted', async (portal) =>
    deletePage(portal, await deps.endpoints.get(portal.accountId, endpointIdOf(portal.req))),
  ),
  onEndpoint(deps, '/delete', 'Delete an endpoint', async (portal) => {
    await deps.endpoints.remove(portal.accountId, endpointIdOf(portal.req), portal.meta)
    return { to: '?done=deleted' }
  }),
]

/** A form of one endpoint. A refusal leads back to the endpoint's page. */
const onEndpoint = (
  deps: PortalDeps,
  below: string,
  summary: string,
  handle: (portal: PortalContext, fields: Parameters) => Promise<Next>,
  maxBytes?: number,
): Route =>
  portalPost(
    deps,
    `/endpoints/:endpoint_id${below}`,
    summary,
    (req) => `/endpoints/${endpointIdOf(req)}`,
    handle,
    maxBytes,
  )

const inputOf = ({ t }: PortalContext, fields: Parameters) => ({
  language: t.language,
  url: (fields.get('url') ?? '').trim(),
  events: eventList(fields.all('events')),
})
