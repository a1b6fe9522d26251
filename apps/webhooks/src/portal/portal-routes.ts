import { route, type Route } from '@signet/http'
import { pageDocs } from '../forms/page-form.js'
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
  return [...routes, ...waysBack(deps, routes)]
}

/** The address of a form stays in the address bar when it was stopped at the door. Whoever opens it later gets to the page above. */
function waysBack({ responder }: Deps, routes: readonly Route[]): Route[] {
  const pages = new Set(routes.filter(({ method }) => method === 'get').map(({ path }) => path))
  const forms = routes.filter(({ method, path }) => method === 'post' && !pages.has(path))
  return forms.map(({ path }) => {
    const segments = path.split('/')
    while (!pages.has(segments.join('/'))) segments.pop()
    return route({
      method: 'get',
      path,
      docs: pageDocs(`leave ${path}`, 'To the page above the form'),
      handle({ req }) {
        const above = req.path.split('/').slice(0, segments.length).join('/')
        return responder.redirect(303, responder.path(above))
      },
    })
  })
}
