import type { Route } from '@signet/http'
import { html } from '@signet/pages'
import type { ConnectionService } from '../grants/connection-service.js'
import { scopeInWords } from '../pages/consent-page.js'
import { textsIn } from '../pages/texts.js'
import { portalGet, portalPost, type PortalDeps } from './portal-kit.js'
import { timeOf } from './show.js'

type Deps = PortalDeps & { connections: ConnectionService }

/** Applications that may act for the account. */
export const applicationRoutes = (deps: Deps): Route[] => [
  portalGet(deps, '/applications', 'Connected applications', async (visit) => {
    const connections = await deps.connections.list(visit.accountId)
    const body =
      connections.length === 0
        ? html`<p>No application has access to your account. When you approve one, it is listed here.</p>`
        : html`${connections.map(
            ({ clientId, clientName, scopes, since, lastActiveAt }) =>
              html`<section class="entry">
                <h2><bdi>${clientName}</bdi></h2>
                <p class="soft">The name is the application’s own and was not verified.</p>
                <ul class="numbers">
                  ${scopes.map((scope) => html`<li>May: <strong>${scopeInWords(textsIn('en'), scope)}</strong></li>`)}
                  <li>Connected ${timeOf(since)}</li>
                  <li>Last active ${timeOf(lastActiveAt)}</li>
                </ul>
                ${visit.form(
                  `/applications/${clientId}/revoke`,
                  html`<button
                    class="danger narrow"
                    type="submit"
                    aria-label="Revoke the access of ${clientName}"
                  >
                    Revoke
                  </button>`,
                )}
              </section>`,
          )}`
    return visit.render({ title: 'Connected applications', section: 'applications', body })
  }),
  portalPost(
    deps,
    '/applications/:client_id/revoke',
    'Revoke the access of an application',
    () => '/applications',
    async (visit) => {
      await deps.connections.revoke(visit.accountId, String(visit.req.params['client_id']), visit.meta)
      return { to: '/applications?done=revoked' }
    },
  ),
]
