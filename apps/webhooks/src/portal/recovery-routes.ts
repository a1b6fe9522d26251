import type { Answer, Route } from '@signet/http'
import { html } from '@signet/pages'
import { endpointIdOf } from '../api/v1-pipeline.js'
import { parseTime } from '../api/query.js'
import type { EndpointService } from '../endpoints/endpoint-service.js'
import { recoveryIdOf } from '../recoveries/recovery-routes.js'
import type { RecoveryService } from '../recoveries/recovery-service.js'
import { chosenOf, portalGet, portalPost, type PortalDeps } from './portal-kit.js'
import type { Visit } from './visit.js'
import { faultAt, live, timeOf } from './show.js'

type Deps = PortalDeps & { endpoints: EndpointService; recoveries: RecoveryService; now: () => Date }

const HOUR_MS = 3_600_000
const RANGES = [
  [1, 'the last hour'],
  [24, 'the last 24 hours'],
  [168, 'the last 7 days'],
  [720, 'the last 30 days'],
] as const

/** Sends again what an endpoint missed. */
export const recoveryRoutes = (deps: Deps): Route[] => [
  portalGet(deps, '/endpoints/:endpoint_id/recover', 'Recover missed events', (visit) =>
    showForm(deps, visit),
  ),
  portalPost(
    deps,
    '/endpoints/:endpoint_id/recover',
    'Start a recovery',
    (req) => `/endpoints/${endpointIdOf(req)}/recover`,
    async (visit, fields) => {
      const hours = chosenOf(
        fields,
        'hours',
        RANGES.map(([hours]) => hours),
        'Choose a time.',
      )
      const what = fields.get('what') === 'all' ? 'all' : 'failed'
      const since = parseTime('since', new Date(deps.now().getTime() - hours * HOUR_MS).toISOString())
      const owner = ownerOf(visit)
      const { id } = await deps.recoveries.start(owner, { what, since, until: undefined }, visit.meta)
      return { to: `/endpoints/${owner.endpointId}/recover/${id}` }
    },
  ),
  portalGet(deps, '/endpoints/:endpoint_id/recover/:recovery_id', 'A recovery', (visit) =>
    showProgress(deps, visit),
  ),
  portalPost(
    deps,
    '/endpoints/:endpoint_id/recover/:recovery_id/stop',
    'Stop a recovery',
    (req) => `/endpoints/${endpointIdOf(req)}/recover/${recoveryIdOf(req)}`,
    async (visit) => {
      const owner = ownerOf(visit)
      const { id } = await deps.recoveries.cancel(owner, recoveryIdOf(visit.req), visit.meta)
      return { to: `/endpoints/${owner.endpointId}/recover/${id}?done=stopped` }
    },
  ),
]

const ownerOf = ({ accountId, req }: Visit) => ({ accountId, endpointId: endpointIdOf(req) })

async function showForm({ endpoints }: Deps, visit: Visit): Promise<Answer> {
  const { id, url } = await endpoints.get(visit.accountId, endpointIdOf(visit.req))
  const body = html`<p>
      Sends events to <a href="${visit.path(`/endpoints/${id}`)}">${url}</a> again, with the same event ids
      and bytes, behind live events and a little at a time. Mend the endpoint first.
    </p>
    ${visit.form(
      `/endpoints/${id}/recover`,
      html`<label for="hours">Events of</label>
        <select id="hours" name="hours" ${faultAt(visit, 'hours')}>
          ${RANGES.map(([hours, label]) => html`<option value="${hours}">${label}</option>`)}
        </select>
        <fieldset>
          <legend>Which ones</legend>
          <label class="check"
            ><input type="radio" name="what" value="failed" checked /> those that never arrived</label
          >
          <label class="check"
            ><input type="radio" name="what" value="all" /> all, also those that arrived</label
          >
        </fieldset>
        <button class="narrow" type="submit">Start</button>`,
    )}`
  return visit.render({ title: 'Recover missed events', section: 'endpoints', body })
}

const STATES = {
  running: 'Running',
  done: 'All are queued',
  cancelled: 'Stopped by you',
  stopped: 'Stopped, because the endpoint was disabled or deleted',
} as const

async function showProgress({ recoveries }: Deps, visit: Visit): Promise<Answer> {
  const owner = ownerOf(visit)
  const recovery = await recoveries.get(owner, recoveryIdOf(visit.req))
  const own = `/endpoints/${owner.endpointId}/recover/${recovery.id}`
  const over = recovery.delivered + recovery.failed
  const isUnderWay = recovery.state === 'running' || over < recovery.queued
  const progress = html`<p role="status"><strong>${STATES[recovery.state]}</strong></p>
    <progress
      max="${Math.max(1, recovery.matched)}"
      value="${over}"
      aria-label="Deliveries that are over"
    ></progress>
    <ul class="numbers">
      <li><strong>${recovery.matched}</strong> events matched</li>
      <li><strong>${recovery.queued}</strong> queued</li>
      <li><strong>${recovery.delivered}</strong> delivered</li>
      <li><strong>${recovery.failed}</strong> failed</li>
    </ul>`
  const body = html`${live(visit, isUnderWay, progress)}
    <p class="soft">Created from ${timeOf(recovery.since)} to ${timeOf(recovery.until)}.</p>
    <div class="actions">
      <a class="button plain" href="${visit.path(`/endpoints/${owner.endpointId}`)}">To the endpoint</a>
      ${recovery.state === 'running' && visit.form(`${own}/stop`, html`<button class="danger" type="submit">Stop</button>`)}
    </div>`
  return visit.render({ title: 'Recovery', section: 'endpoints', body, isLive: isUnderWay })
}
