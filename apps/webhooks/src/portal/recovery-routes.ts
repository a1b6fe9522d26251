import type { Answer, Route } from '@signet/http'
import { html } from '@signet/pages'
import { endpointIdOf } from '../api/v1-pipeline.js'
import { parseTime } from '../api/query.js'
import type { EndpointService } from '../endpoints/endpoint-service.js'
import { recoveryIdOf } from '../recoveries/recovery-routes.js'
import type { RecoveryService } from '../recoveries/recovery-service.js'
import { portalGet, portalPost, type PortalDeps } from './portal-kit.js'
import { chosenOf } from './refusal.js'
import type { PortalContext } from './portal-context.js'
import { faultAt, live, timeOf } from './show.js'

type Deps = PortalDeps & { endpoints: EndpointService; recoveries: RecoveryService; now: () => Date }

const HOUR_MS = 3_600_000
const RANGES = [
  [1, 'portal.range.hour'],
  [24, 'portal.range.day'],
  [168, 'portal.range.week'],
  [720, 'portal.range.month'],
] as const

/** Pages that send the events again that an endpoint missed. */
export const recoveryRoutes = (deps: Deps): Route[] => [
  portalGet(deps, '/endpoints/:endpoint_id/recover', 'Recover missed events', (portal) =>
    showForm(deps, portal),
  ),
  portalPost(
    deps,
    '/endpoints/:endpoint_id/recover',
    'Start a recovery',
    (req) => `/endpoints/${endpointIdOf(req)}/recover`,
    async (portal, fields) => {
      const hours = chosenOf(
        fields,
        'hours',
        RANGES.map(([hours]) => hours),
        'portal.refusal.choose-time',
      )
      const what = fields.get('what') === 'all' ? 'all' : 'failed'
      const since = parseTime('since', new Date(deps.now().getTime() - hours * HOUR_MS).toISOString())
      const owner = ownerOf(portal)
      const { id } = await deps.recoveries.start(owner, { what, since, until: undefined }, portal.meta)
      return { to: `/endpoints/${owner.endpointId}/recover/${id}` }
    },
  ),
  portalGet(deps, '/endpoints/:endpoint_id/recover/:recovery_id', 'A recovery', (portal) =>
    showProgress(deps, portal),
  ),
  portalPost(
    deps,
    '/endpoints/:endpoint_id/recover/:recovery_id/stop',
    'Stop a recovery',
    (req) => `/endpoints/${endpointIdOf(req)}/recover/${recoveryIdOf(req)}`,
    async (portal) => {
      const owner = ownerOf(portal)
      const { id } = await deps.recoveries.cancel(owner, recoveryIdOf(portal.req), portal.meta)
      return { to: `/endpoints/${owner.endpointId}/recover/${id}?done=stopped` }
    },
  ),
]

const ownerOf = ({ accountId, req }: PortalContext) => ({ accountId, endpointId: endpointIdOf(req) })

async function showForm({ endpoints }: Deps, portal: PortalContext): Promise<Answer> {
  const { t } = portal
  const { id, url } = await endpoints.get(portal.accountId, endpointIdOf(portal.req))
  const body = html`<p>${t.html('portal.recovery.text', { url, a: portal.link(`/endpoints/${id}`) })}</p>
    ${portal.form(
      `/endpoints/${id}/recover`,
      html`<label for="hours">${t('portal.recovery.events-of')}</label>
        <select id="hours" name="hours" ${faultAt(portal, 'hours')}>
          ${RANGES.map(([hours, label]) => html`<option value="${hours}">${t(label)}</option>`)}
        </select>
        <fieldset>
          <legend>${t('portal.recovery.which')}</legend>
          <label class="check"
            ><input type="radio" name="what" value="failed" checked /> ${t('portal.recovery.missed')}</label
          >
          <label class="check"
            ><input type="radio" name="what" value="all" /> ${t('portal.recovery.everything')}</label
          >
        </fieldset>
        <button class="narrow" type="submit">${t('portal.recovery.start')}</button>`,
    )}`
  return portal.render({ title: t('portal.endpoint.recover'), section: 'endpoints', body })
}

async function showProgress({ recoveries }: Deps, portal: PortalContext): Promise<Answer> {
  const { t } = portal
  const owner = ownerOf(portal)
  const recovery = await recoveries.get(owner, recoveryIdOf(portal.req))
  const own = `/endpoints/${owner.endpointId}/recover/${recovery.id}`
  const over = recovery.delivered + recovery.failed
  const isUnderWay = recovery.state === 'running' || over < recovery.queued
  const progress = html`<p role="status"><strong>${t(`portal.recovery.state.${recovery.state}`)}</strong></p>
    <progress
      max="${Math.max(1, recovery.matched)}"
      value="${over}"
      aria-label="${t('portal.recovery.over')}"
    ></progress>
    <ul class="numbers">
      <li>${t.html('portal.recovery.matched', { count: recovery.matched })}</li>
      <li>${t.html('portal.recovery.queued', { count: recovery.queued })}</li>
      <li>${t.html('portal.count.delivered', { count: recovery.delivered })}</li>
      <li>${t.html('portal.count.failed', { count: recovery.failed })}</li>
    </ul>`
  const body = html`${live(portal, isUnderWay, progress)}
    <p class="soft">
      ${t.html('portal.recovery.created', { since: timeOf(t, recovery.since), until: timeOf(t, recovery.until) })}
    </p>
    <div class="actions">
      <a class="button plain" href="${portal.path(`/endpoints/${owner.endpointId}`)}"
        >${t('portal.endpoint.to')}</a
      >
      ${recovery.state === 'running' && portal.form(`${own}/stop`, html`<button class="danger" type="submit">${t('portal.recovery.stop')}</button>`)}
    </div>`
  return portal.render({ title: t('portal.recovery.title'), section: 'endpoints', body, isLive: isUnderWay })
}
