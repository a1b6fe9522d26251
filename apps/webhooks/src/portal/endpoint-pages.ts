import type { Answer } from '@signet/http'
import { html, type Html } from '@signet/pages'
import { endpointStatus, eventTypes } from '@signet/webhook-core'
import type { Endpoint, EndpointHealth } from '@signet/webhook-core/stores'
import type { Texts } from '../pages/texts.js'
import { healthView } from './health-view.js'
import type { PortalContext } from './portal-context.js'
import { faultAt, reasonInWords, timeOf } from './show.js'

/** The fields of an endpoint's form. */
type Entered = { url: string; events: readonly string[] }

/** The values that were typed if the form was refused, otherwise its initial values. */
const enteredOf = ({ typed }: PortalContext, otherwise: Entered): Entered => {
  const url = typed.get('url')
  return url === undefined ? otherwise : { url, events: typed.all('events') }
}

/** The first page of the portal: all endpoints with their health, or the first steps. */
export function endpointsPage(
  portal: PortalContext,
  endpoints: readonly Endpoint[],
  health: ReadonlyMap<string, EndpointHealth>,
): Answer {
  const { t } = portal
  const body =
    endpoints.length === 0
      ? firstSteps(portal)
      : html`${endpoints.map(
            (endpoint) =>
              html`<section class="entry">
                <h2><a href="${portal.path(`/endpoints/${endpoint.id}`)}">${endpoint.url}</a></h2>
                ${stateOf(t, endpoint)} ${healthView(t, health.get(endpoint.id))}
              </section>`,
          )}
          <p>
            <a class="button narrow" href="${portal.path('/endpoints/new')}">${t('portal.endpoints.add')}</a>
          </p>`
  return portal.render({ title: t('portal.nav.endpoints'), section: 'endpoints', body })
}

function firstSteps(portal: PortalContext): Html {
  const { t } = portal
  return html`<p>${t('portal.endpoints.first')}</p>
    <ol class="steps">
      <li>${t('portal.endpoints.first.1')}</li>
      <li>${t('portal.endpoints.first.2')}</li>
      <li>${t.html('portal.endpoints.first.3', { a: portal.link('/signatures') })}</li>
    </ol>
    <p class="soft">${t.html('portal.endpoints.listen')}</p>
    ${endpointForm(portal, '/endpoints', t('portal.endpoint.create'), { url: '', events: eventTypes })}`
}

export function newEndpointPage(portal: PortalContext): Answer {
  const { t } = portal
  const body = endpointForm(portal, '/endpoints', t('portal.endpoint.create'), { url: '', events: [] })
  return portal.render({ title: t('portal.endpoints.add'), section: 'endpoints', body })
}

/** Shows the secret that a form just created. Later visitors are told how to get another. */
export function secretPage(portal: PortalContext, { id }: Endpoint): Answer {
  const { t } = portal
  const title = t('portal.secret.title')
  const secret = portal.shown('secret')
  if (secret === undefined) {
    const body = html`<p>${t('portal.secret.gone')}</p>
      <p>
        <a class="button narrow" href="${portal.path(`/endpoints/${id}`)}">${t('portal.endpoint.to')}</a>
      </p>`
    return portal.render({ title, section: 'endpoints', body })
  }
  const body = html`<p>${explanationOf(t, portal.shown('hours'))}</p>
    <pre tabindex="0" aria-label="${t('portal.secret.label')}">${secret}</pre>
    <div class="actions">
      ${portal.form(`/endpoints/${id}/test`, html`<button type="submit">${t('portal.endpoint.test')}</button>`)}
      <a class="button plain" href="${portal.path(`/endpoints/${id}`)}">${t('portal.endpoint.to')}</a>
    </div>`
  return portal.render({ title, section: 'endpoints', body })
}

/** Explains a first secret, or one that replaces another after `hours`. */
function explanationOf(t: Texts, hours: string | undefined): string {
  if (hours === undefined) return t('portal.secret.first')
  return hours === '0' ? t('portal.secret.now') : t('portal.secret.later', { hours })
}

export function endpointPage(
  portal: PortalContext,
  endpoint: Endpoint,
  health: EndpointHealth | undefined,
): Answer {
  const { t } = portal
  const own = `/endpoints/${endpoint.id}`
  const button = (below: string, label: string, style = 'plain') =>
    portal.form(own + below, html`<button class="${style}" type="submit">${label}</button>`)
  const body = html`${stateOf(t, endpoint)} ${healthView(t, health)}
    <div class="actions">
      <a class="button" href="${portal.path(`${own}/deliveries`)}">${t('portal.log.title')}</a>
      ${button('/test', t('portal.endpoint.test'))}
      ${endpoint.status === endpointStatus.disabled && button('/enable', t('portal.endpoint.enable'), '')}
      <a class="button plain" href="${portal.path(`${own}/recover`)}">${t('portal.endpoint.recover')}</a>
    </div>
    <h2>${t('portal.endpoint.address-and-events')}</h2>
    ${endpointForm(portal, own, t('portal.endpoint.save'), endpoint)}
    <h2>${t('portal.secret.heading')}</h2>
    ${secretForms(portal, endpoint)}
    <h2>${t('portal.endpoint.delete')}</h2>
    <p>
      <a class="button danger narrow" href="${portal.path(`${own}/delete`)}"
        >${t('portal.endpoint.delete-this')}</a
      >
    </p>`
  return portal.render({ title: endpoint.url, section: 'endpoints', body })
}

export function deletePage(portal: PortalContext, { id, url }: Endpoint): Answer {
  const { t } = portal
  const body = html`<p>${t.html('portal.endpoint.delete.text', { url })}</p>
    <div class="actions">
      ${portal.form(`/endpoints/${id}/delete`, html`<button class="danger" type="submit">${t('portal.endpoint.delete')}</button>`)}
      <a class="button plain" href="${portal.path(`/endpoints/${id}`)}">${t('portal.endpoint.keep')}</a>
    </div>`
  return portal.render({ title: t('portal.endpoint.delete.title'), section: 'endpoints', body })
}

function stateOf(
  t: Texts,
  { status, consecutiveFailures, failingSince, disabledAt, disabledReason }: Endpoint,
): Html {
  const since = (at: Date | null) => at !== null && t.html('portal.since', { time: timeOf(t, at) })
  if (status === endpointStatus.disabled)
    return html`<p>
      <span class="tag">${t('portal.endpoint.disabled')}</span>
      ${since(disabledAt)}
      ${disabledReason !== null && t('portal.endpoint.because', { reason: reasonInWords(t, disabledReason) })}
    </p>`
  if (consecutiveFailures > 0)
    return html`<p>
      <span class="tag">${t('portal.endpoint.failing')}</span>
      ${t('portal.endpoint.in-a-row', { count: consecutiveFailures })} ${since(failingSince)}
    </p>`
  return html`<p class="soft">${t('portal.endpoint.active')}</p>`
}

// Without `maxlength`: browsers count UTF-16 units where the service counts characters, and cut off a URL that is pasted.
function endpointForm(portal: PortalContext, action: string, label: string, start: Entered): Html {
  const { t } = portal
  const { url, events } = enteredOf(portal, start)
  return portal.form(
    action,
    html`<label for="url">${t('portal.endpoint.address')}</label>
      <input
        id="url"
        name="url"
        type="url"
        inputmode="url"
        autocapitalize="none"
        spellcheck="false"
        required
        placeholder="https://example.com/webhooks"
        ${faultAt(portal, 'url')}
        value="${url}"
      />
      <fieldset>
        <legend>${t('portal.events.title')}</legend>
        ${eventTypes.map(
          (type) =>
            html`<label class="check">
              <input
                type="checkbox"
                name="events"
                value="${type}"
                ${events.includes(type) && html`checked`}
              />
              <code>${type}</code>
            </label>`,
        )}
      </fieldset>
      <button class="narrow" type="submit">${label}</button>`,
  )
}

function secretForms(portal: PortalContext, { id, secretActivatesAt }: Endpoint): Html {
  const { t } = portal
  const own = `/endpoints/${id}/secret`
  if (secretActivatesAt !== null)
    return html`<p>${t.html('portal.secret.waits', { time: timeOf(t, secretActivatesAt) })}</p>
      <div class="actions">
        ${portal.form(`${own}/activate`, html`<button type="submit">${t('portal.secret.activate')}</button>`)}
        ${portal.form(`${own}/cancel`, html`<button class="plain" type="submit">${t('portal.secret.forget')}</button>`)}
      </div>`
  return portal.form(
    `${own}/rotate`,
    html`<label for="hours">${t('portal.secret.replace')}</label>
      <select id="hours" name="hours" ${faultAt(portal, 'hours')}>
        <option value="24">${t('portal.secret.in-a-day')}</option>
        <option value="168">${t('portal.secret.in-a-week')}</option>
        <option value="0">${t('portal.secret.at-once')}</option>
      </select>
      <p class="hint">${t('portal.secret.when')}</p>
      <button class="plain narrow" type="submit">${t('portal.secret.make')}</button>`,
  )
}
