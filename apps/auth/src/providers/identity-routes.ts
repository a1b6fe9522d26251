import { route, type Route } from '@signet/http'
import { type Request } from 'express'
import { authError } from '../errors/auth-error.js'
import { type RedirectConfig } from '../redirects/redirects.js'
import { referrerOf } from '../redirects/referrer.js'
import { isMeantFor, type Bearer, type Caller } from '../requests/bearer.js'
import { docs, query } from '../requests/docs.js'
import { type RequestGuard } from '../requests/request-guard.js'
import { isUuid } from '../users/uuid.js'
import { type AuthorizeService } from './authorize-service.js'
import { redirect } from './callback-answer.js'
import { type IdentityService } from './identity-service.js'
import { authorizeParameters, textsOf } from './provider-routes.js'

type Deps = {
  authorizations: AuthorizeService
  identities: IdentityService
  bearer: Bearer
  guard: RequestGuard
  redirects: RedirectConfig
  config: { manualLinkingEnabled: boolean }
}

/** Adding and removing ways to sign in (contract 1.19). */
export function identityRoutes({
  authorizations,
  identities,
  bearer,
  guard,
  redirects,
  config,
}: Deps): Route[] {
  const own = { tag: 'Account', security: 'user' } as const
  const authenticateUser = bearer.user()
  const authenticate = async (req: Request): Promise<Caller> => {
    const caller = await authenticateUser(req)
    requireManualLinking(config.manualLinkingEnabled)
    return caller
  }
  return [
    route<Caller>({
      method: 'get',
      path: '/user/identities/authorize',
      docs: docs('Add a sign-in method', {
        ...own,
        parameters: [
          ...authorizeParameters,
          query('skip_http_redirect', '`true` answers the address in place of a redirect.'),
        ],
        answer: { description: 'Where to go', schema: 'ProviderUrl' },
        errors: [400, 401, 403, 404],
      }),
      authenticate,
      async handle({ caller, req }) {
        const parameters = textsOf(req.query)
        const url = await authorizations.begin({
          query: parameters,
          redirectTo: referrerOf(req, redirects),
          linkingTargetId: caller.user.id,
        })
        return parameters['skip_http_redirect'] === 'true' ? { body: { url } } : redirect(302, url)
      },
    }),
    route<Caller>({
      method: 'delete',
      path: '/user/identities/:identity_id',
      docs: docs('Remove a sign-in method', {
        ...own,
        answer: { description: 'Done' },
        errors: [401, 403, 404, 422],
      }),
      authenticate,
      async handle({ caller, req }) {
        const id = String(req.params['identity_id'])
        if (!isUuid(id)) throw authError('not_found', 'validation_failed', 'identity_id must be an UUID')
        if (!isMeantFor(caller.claims, caller.aud))
          throw authError('forbidden', 'unexpected_audience', "Token audience doesn't match request audience")
        await identities.unlink(caller.user, id.toLowerCase(), guard.metaOf(req))
        return { body: {} }
      },
    }),
  ]
}

/** Also for the id_token grant with `link_identity`. */
export function requireManualLinking(enabled: boolean): void {
  if (!enabled) throw authError('not_found', 'manual_linking_disabled', 'Manual linking is disabled')
}
