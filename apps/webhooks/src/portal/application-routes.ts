import type { Route } from '@signet/http'
import { timestampText } from '@signet/language'
import { html } from '@signet/pages'
import type { ConnectionService } from '../grants/connection-service.js'
import { scopeInWords } from '../pages/consent-page.js'
import { portalGet, portalPost, type PortalDeps } from './portal-kit.js'
import { timeOf } from './show.js'

type Deps = PortalDeps & { connections: ConnectionService }

/** Applications that may act for the account. */
export const applicationRoutes = (deps: Deps): Route[] => [
  portalGet(deps, '/applications', 'Connected applications', async (portal) => {
    const { t } = portal
    const connections = await deps.connections.list(portal.accountId)
    const body =
      connections.length === 0
        ? html`<p>${t('portal.applications.none')}</p>`
        : html`${connections.map(
            ({ clientId, clientName, scopes, since, lastActiveAt }) =>
              html`<section class="entry">
                <h2><bdi>${clientName}</bdi></h2>
                <p class="soft">${t('portal.applications.unverified')}</p>
                <ul class="numbers">
                  ${scopes.map((scope) => html`<li>${t.html('portal.applications.may', { scope: scopeInWords(t, scope) })}</li>`)}
                  <li>${t.html('portal.applications.since', { time: timeOf(t, since) })}</li>
                  <li>${t.html('portal.applications.last', { time: timeOf(t, lastActiveAt) })}</li>
                </ul>
                ${portal.form(
                  `/applications/${clientId}/revoke`,
                  html`<button
                    class="danger narrow"
                    type="submit"
                    aria-label="${t('portal.applications.revoke', { client: clientName, time: timestampText(t.language, since) })}"
                  >
                    ${t('portal.revoke')}
                  </button>`,
                )}
              </section>`,
          )}`
    return portal.render({ title: t('portal.applications.title'), section: 'applications', body })
  }),
  portalPost(
    deps,
    '/applications/:client_id/revoke',
    'Revoke the access of an application',
    () => '/applications',
    async (portal) => {
      await deps.connections.revoke(portal.accountId, String(portal.req.params['client_id']), portal.meta)
      return { to: '/applications?done=revoked' }
    },
  ),
]
