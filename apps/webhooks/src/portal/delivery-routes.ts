import type { Answer, Route } from '@signet/http'
import { deliveryIdOf, endpointIdOf } from '../api/v1-pipeline.js'
import type { DeliveryLog } from '../deliveries/delivery-log.js'
import { filterOf } from '../deliveries/delivery-filter.js'
import type { ReplayService } from '../deliveries/replay-service.js'
import type { EndpointService } from '../endpoints/endpoint-service.js'
import type { Parameters } from '../oauth/parameters.js'
import { deliveryPage, MAX_SHOWN } from './delivery-page.js'
import { deliveriesPage, RANGES } from './deliveries-page.js'
import { portalGet, portalPost, type PortalDeps } from './portal-kit.js'
import type { PortalContext } from './portal-context.js'

type Deps = PortalDeps & {
  endpoints: EndpointService
  deliveryLog: DeliveryLog
  replays: ReplayService
  now: () => Date
}

const PAGE_SIZE = 20
/** Members of a filter in the query of the log, which the link to the next page repeats. */
const FILTERS = ['status', 'event_type', 'event_id', 'since'] as const

/** The delivery log of an endpoint, each delivery with its attempts, and replay. */
export const deliveryRoutes = (deps: Deps): Route[] => [
  portalGet(deps, '/endpoints/:endpoint_id/deliveries', 'Delivery log of an endpoint', (portal, query) =>
    showLog(deps, portal, query),
  ),
  portalGet(deps, '/endpoints/:endpoint_id/deliveries/:delivery_id', 'A delivery', async (portal) => {
    const endpoint = await deps.endpoints.get(portal.accountId, endpointIdOf(portal.req))
    const owner = { accountId: portal.accountId, endpointId: endpoint.id }
    const id = deliveryIdOf(portal.req)
    const detail = await deps.deliveryLog.detail(owner, id)
    return deliveryPage(portal, endpoint, detail, await deps.deliveryLog.payload(owner, id, MAX_SHOWN))
  }),
  portalPost(
    deps,
    '/endpoints/:endpoint_id/deliveries/:delivery_id/replay',
    'Send an event again',
    (req) => `/endpoints/${endpointIdOf(req)}/deliveries/${deliveryIdOf(req)}`,
    async (portal) => {
      const owner = { accountId: portal.accountId, endpointId: endpointIdOf(portal.req) }
      const { id } = await deps.replays.replay(owner, deliveryIdOf(portal.req), portal.meta)
      return { to: `/endpoints/${owner.endpointId}/deliveries/${id}?done=replayed` }
    },
  ),
]

async function showLog(
  { endpoints, deliveryLog, now }: Deps,
  portal: PortalContext,
  query: Parameters,
): Promise<Answer> {
  const endpoint = await endpoints.get(portal.accountId, endpointIdOf(portal.req))
  const chosen = filledIn(query, now())
  const { items, nextCursor } = await deliveryLog.after(
    { accountId: portal.accountId, endpointId: endpoint.id },
    filterOf({ query: chosen }),
    { cursor: query.get('cursor'), limit: PAGE_SIZE },
  )
  const next = nextCursor === '' ? null : String(new URLSearchParams({ ...chosen, cursor: nextCursor }))
  return deliveriesPage(portal, endpoint, { items, chosen, next })
}

/** The form's values without empty ones. A range becomes a time, which all further pages keep. */
function filledIn(query: Parameters, now: Date): Record<string, string> {
  const hours = RANGES.find(([name]) => name === query.get('range'))?.[1]
  const since = hours === undefined ? undefined : new Date(now.getTime() - hours * 3_600_000).toISOString()
  // Ids are pasted from logs and mails, often with a space.
  const given = Object.fromEntries(FILTERS.map((name) => [name, query.get(name)?.trim()]))
  return Object.fromEntries(
    Object.entries({ ...given, ...(since === undefined ? {} : { since }) }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
    ),
  )
}
