import { route, type Route } from '@signet/http'
import { authError } from '../errors/auth-error.js'
import type { Redirects } from '../redirects/redirects.js'
import { isMeantFor } from '../requests/audiences.js'
import type { Bearer, Caller } from '../bearer/bearer.js'
import { docs, query } from '../requests/docs.js'
import { narrowed } from '../bearer/gates.js'
import type { RequestGuard } from '../bearer/request-guard.js'
import { isUuid } from '../users/uuid.js'
import type { AuthorizeService } from './authorize-service.js'
import { redirect } from './callback-answer.js'
import type { LinkConfirmation } from './link-confirmation.js'
import type { IdentityService } from './identity-service.js'
import { authorizeParameters, textsOf } from './provider-routes.js'

type Deps = {
  authorizations: AuthorizeService
  linkConfirmation: LinkConfirmation
  identities: IdentityService
  bearer: Bearer
  guard: RequestGuard
  redirects: Redirects
  config: { manualLinkingEnabled: boolean }
}

/** Adding and removing ways to sign in (docs/specification.md#identities). */
export function identityRoutes({
  authorizations,
  linkConfirmation,
  identities,
  bearer,
  guard,
  redirects,
  config,
}: Deps): Route[] {
  const own = { tag: 'Account', security: 'user' } as const
  const authenticate = narrowed(bearer.changeStrongly, (caller) => {
    requireManualLinking(config.manualLinkingEnabled)
    return caller
  })
  return [
    route<Caller>({
      method: 'get',
      path: '/user/identities/authorize',
      docs: docs('linkIdentity', 'Add a sign-in method', {
        ...own,
        parameters: [
          ...authorizeParameters,
          query('skip_http_redirect', '`true` returns the URL instead of a redirect.'),
        ],
        answer: { description: 'Where to go', schema: 'ProviderUrl' },
        alternatives: { 302: { description: 'To the confirmation page' } },
        errors: [400, 401, 403, 404, 429],
      }),
      authenticate: bearer.toAddWayIn(authenticate),
      async handle({ caller, req }) {
        const parameters = textsOf(req.query)
        const departure = await authorizations.begin(
          { query: parameters, redirectTo: redirects.targetOf(req), linkingTarget: caller },
          guard.metaOf(req),
        )
        const url = linkConfirmation.addressOf({
          ...departure,
          account: caller.user.email ?? caller.user.phone,
        })
        return parameters['skip_http_redirect'] === 'true' ? { body: { url } } : redirect(302, url)
      },
    }),
    route<Caller>({
      method: 'delete',
      path: '/user/identities/:identity_id',
      docs: docs('unlinkIdentity', 'Remove a sign-in method', {
        ...own,
        answer: { description: 'Done', schema: 'Empty' },
        errors: [401, 403, 404, 422],
      }),
      authenticate,
      async handle({ caller, req }) {
        const id = String(req.params['identity_id'])
        if (!isUuid(id)) throw authError('not_found', 'validation_failed', 'identity_id must be a UUID')
        if (!isMeantFor(caller.claims, caller.aud))
          throw authError('forbidden', 'unexpected_audience', "Token audience doesn't match request audience")
        await identities.unlink(caller, id.toLowerCase(), guard.metaOf(req))
        return { body: {} }
      },
    }),
  ]
}

/** Also used by the id_token grant with `link_identity`. */
export function requireManualLinking(enabled: boolean): void {
  if (!enabled) throw authError('not_found', 'manual_linking_disabled', 'Manual linking is disabled')
}
