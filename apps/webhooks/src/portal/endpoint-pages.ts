import type { Answer } from '@signet/http'
import { html, type Html } from '@signet/pages'
import { endpointStatus, eventTypes } from '@signet/webhook-core'
import type { Endpoint, EndpointHealth } from '@signet/webhook-core/stores'
import { healthView } from './health-view.js'
import type { Visit } from './visit.js'
import { faultAt, reasonInWords, timeOf } from './show.js'

/** What is in the form of an endpoint. */
type Entered = { url: string; events: readonly string[] }

/** What was typed when the form was refused, or else what it starts with. */
const enteredOf = ({ typed }: Visit, otherwise: Entered): Entered => {
  const url = typed.get('url')
  return url === undefined ? otherwise : { url, events: typed.all('events') }
}

/** The first page of the portal: all endpoints and how they are, or the first steps. */
export function endpointsPage(
  visit: Visit,
  endpoints: readonly Endpoint[],
  health: ReadonlyMap<string, EndpointHealth>,
): Answer {
  const body =
    endpoints.length === 0
      ? firstSteps(visit)
      : html`${endpoints.map(
            (endpoint) =>
              html`<section class="entry">
                <h2><a href="${visit.path(`/endpoints/${endpoint.id}`)}">${endpoint.url}</a></h2>
                ${stateOf(endpoint)} ${healthView(health.get(endpoint.id))}
              </section>`,
          )}
          <p><a class="button narrow" href="${visit.path('/endpoints/new')}">Add an endpoint</a></p>`
  return visit.render({ title: 'Endpoints', section: 'endpoints', body })
}

const firstSteps = (visit: Visit): Html =>
  html`<p>
      An endpoint is an address of yours that gets events as signed HTTPS requests. From here to the first
      verified one:
    </p>
    <ol class="steps">
      <li>Add the address. You get the secret that signs its events.</li>
      <li>Send a test event, and see how it arrived.</li>
      <li>Check the signature on the page <a href="${visit.path('/signatures')}">Signatures</a>.</li>
    </ol>
    <p class="soft">
      No server at hand? <code>signet listen</code>, of the command-line tool, receives events on your own
      computer.
    </p>
    ${endpointForm(visit, '/endpoints', 'Add endpoint', { url: '', events: eventTypes })}`

export function newEndpointPage(visit: Visit): Answer {
  const body = endpointForm(visit, '/endpoints', 'Add endpoint', { url: '', events: [] })
  return visit.render({ title: 'Add an endpoint', section: 'endpoints', body })
}

/** The secret that a form just made. Whoever comes later learns how to get another. */
export function secretPage(visit: Visit, { id }: Endpoint): Answer {
  const secret = visit.shown('secret')
  if (secret === undefined) {
    const body = html`<p>
        The secret was shown already, or was not opened within five minutes. If you did not copy it, make a
        new one.
      </p>
      <p><a class="button narrow" href="${visit.path(`/endpoints/${id}`)}">To the endpoint</a></p>`
    return visit.render({ title: 'Your signing secret', section: 'endpoints', body })
  }
  const body = html`<p>${explanationOf(visit.shown('hours'))} This is the only time it is shown.</p>
    <pre tabindex="0" aria-label="The signing secret">${secret}</pre>
    <div class="actions">
      ${visit.form(`/endpoints/${id}/test`, html`<button type="submit">Send a test event</button>`)}
      <a class="button plain" href="${visit.path(`/endpoints/${id}`)}">To the endpoint</a>
    </div>`
  return visit.render({ title: 'Your signing secret', section: 'endpoints', body })
}

/** Of a first secret, or of one that replaces another after so many hours. */
function explanationOf(hours: string | undefined): string {
  if (hours === undefined) return 'With this secret your endpoint checks that events come from here.'
  return hours === '0'
    ? 'This secret signs all events from now on.'
    : `This secret replaces the current one in ${hours} hours. Let your endpoint accept both until then.`
}

export function endpointPage(visit: Visit, endpoint: Endpoint, health: EndpointHealth | undefined): Answer {
  const own = `/endpoints/${endpoint.id}`
  const button = (below: string, label: string, style = 'plain') =>
    visit.form(own + below, html`<button class="${style}" type="submit">${label}</button>`)
  const body = html`${stateOf(endpoint)} ${healthView(health)}
    <div class="actions">
      <a class="button" href="${visit.path(`${own}/deliveries`)}">Delivery log</a>
      ${button('/test', 'Send a test event')}
      ${endpoint.status === endpointStatus.disabled && button('/enable', 'Enable', '')}
      <a class="button plain" href="${visit.path(`${own}/recover`)}">Recover missed events</a>
    </div>
    <h2>Address and events</h2>
    ${endpointForm(visit, own, 'Save', endpoint)}
    <h2>Signing secret</h2>
    ${secretForms(visit, endpoint)}
    <h2>Delete</h2>
    <p>
      <a class="button danger narrow" href="${visit.path(`${own}/delete`)}">Delete this endpoint</a>
    </p>`
  return visit.render({ title: endpoint.url, section: 'endpoints', body })
}

export function deletePage(visit: Visit, { id, url }: Endpoint): Answer {
  const body = html`<p>
      <strong>${url}</strong> gets no more events. What is pending is cancelled, and its secret is erased.
      This cannot be undone.
    </p>
    <div class="actions">
      ${visit.form(`/endpoints/${id}/delete`, html`<button class="danger" type="submit">Delete</button>`)}
      <a class="button plain" href="${visit.path(`/endpoints/${id}`)}">Keep it</a>
    </div>`
  return visit.render({ title: 'Delete this endpoint?', section: 'endpoints', body })
}

function stateOf({ status, consecutiveFailures, failingSince, disabledAt, disabledReason }: Endpoint): Html {
  if (status === endpointStatus.disabled)
    return html`<p>
      <span class="tag">Disabled</span>
      ${disabledAt !== null && html`since ${timeOf(disabledAt)}`}
      ${disabledReason !== null && html`because ${reasonInWords(disabledReason)}`}
    </p>`
  if (consecutiveFailures > 0)
    return html`<p>
      <span class="tag">Failing</span> ${consecutiveFailures} attempts in a row
      ${failingSince !== null && html`since ${timeOf(failingSince)}`}
    </p>`
  return html`<p class="soft">Active</p>`
}

function endpointForm(visit: Visit, action: string, label: string, start: Entered): Html {
  const { url, events } = enteredOf(visit, start)
  return visit.form(
    action,
    html`<label for="url">Address</label>
      <input
        id="url"
        name="url"
        type="url"
        inputmode="url"
        autocapitalize="none"
        spellcheck="false"
        required
        maxlength="2048"
        placeholder="https://example.com/webhooks"
        ${faultAt(visit, 'url')}
        value="${url}"
      />
      <fieldset>
        <legend>Events</legend>
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

function secretForms(visit: Visit, { id, secretActivatesAt }: Endpoint): Html {
  const own = `/endpoints/${id}/secret`
  if (secretActivatesAt !== null)
    return html`<p>
        A new secret waits and becomes the only one at ${timeOf(secretActivatesAt)}. Until then
        <code>webhook-signature</code> has a signature with each, and <code>X-Service-Signature</code> is made
        with the old one.
      </p>
      <div class="actions">
        ${visit.form(`${own}/activate`, html`<button type="submit">Activate it now</button>`)}
        ${visit.form(`${own}/cancel`, html`<button class="plain" type="submit">Forget it</button>`)}
      </div>`
  return visit.form(
    `${own}/rotate`,
    html`<label for="hours">Replace the secret</label>
      <select id="hours" name="hours" ${faultAt(visit, 'hours')}>
        <option value="24">in 24 hours, so that receivers can be changed first</option>
        <option value="168">in 7 days</option>
        <option value="0">at once, because it leaked</option>
      </select>
      <button class="plain narrow" type="submit">Make a new secret</button>`,
  )
}
