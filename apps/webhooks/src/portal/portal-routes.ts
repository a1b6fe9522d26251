import type { Route } from '@signet/http'
import { waysBack } from '../forms/ways-back.js'
import { applicationRoutes } from './application-routes.js'
import { deliveryRoutes } from './delivery-routes.js'
import { endpointRoutes } from './endpoint-routes.js'
import { eventRoutes } from './event-routes.js'
import { recoveryRoutes } from './recovery-routes.js'
import { signatureRoutes } from './signature-routes.js'
import { tokenRoutes } from './token-routes.js'

type Deps = Parameters<typeof endpointRoutes>[0] &
  Parameters<typeof deliveryRoutes>[0] &
  Parameters<typeof recoveryRoutes>[0] &
  Parameters<typeof applicationRoutes>[0] &
  Parameters<typeof tokenRoutes>[0] &
  Parameters<typeof eventRoutes>[0]

/** The portal for integrators (docs/specification.md#portal). */
export function portalRoutes(deps: Deps): Route[] {
  const routes = [
    ...endpointRoutes(deps),
    ...deliveryRoutes(deps),
    ...recoveryRoutes(deps),
    ...applicationRoutes(deps),
    ...tokenRoutes(deps),
    ...eventRoutes(deps),
    ...signatureRoutes(deps),
  ]
  const pages = new Set(routes.filter(({ method }) => method === 'get').map(({ path }) => path))
  return [...routes, ...waysBack(deps.responder, { forms: routes, pages })]
}
