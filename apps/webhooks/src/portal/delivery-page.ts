import type { Answer } from '@signet/http'
import { html, type Html } from '@signet/pages'
import { deliveryStatus } from '@signet/webhook-core'
import type { Endpoint } from '@signet/webhook-core/stores'
import type { Attempt, DeliveryDetail } from '../deliveries/delivery-row.js'
import type { Visit } from './visit.js'
import { live, milliseconds, reasonInWords, statusInWords, timeOf } from './show.js'

/** Characters of a payload that the page shows. */
const MAX_SHOWN = 50_000

/** One delivery: what was sent, how each attempt went, and how its signature is made. */
export function deliveryPage(
  visit: Visit,
  { id: endpointId, url }: Endpoint,
  { delivery, nextAttemptAt, attempts }: DeliveryDetail,
  payload: string | null,
): Answer {
  const log = `/endpoints/${endpointId}/deliveries`
  const isUnderWay = delivery.status === deliveryStatus.pending
  const state = html`<p role="status"><strong>${statusInWords(delivery.status)}</strong></p>
    <ul class="numbers">
      <li><code>${delivery.eventType}</code></li>
      <li>
        Event
        <a href="${visit.path(`${log}?event_id=${delivery.eventId}`)}"><code>${delivery.eventId}</code></a>
      </li>
      <li>Created ${timeOf(delivery.createdAt)}</li>
      ${nextAttemptAt !== null && html`<li>Next attempt ${timeOf(nextAttemptAt)}</li>`}
    </ul>
    <h2>Attempts</h2>
    ${attempts.length === 0 ? html`<p class="soft">None yet.</p>` : attempts.map(attemptView)}`
  const body = html`<p>To <a href="${visit.path(`/endpoints/${endpointId}`)}">${url}</a></p>
    <div class="actions">
      ${
        !isUnderWay &&
        visit.form(`${log}/${delivery.id}/replay`, html`<button type="submit">Send it again</button>`)
      }
      <a class="button plain" href="${visit.path(log)}">Delivery log</a>
    </div>
    ${live(visit, isUnderWay, state)}
    <h2>What was sent</h2>
    ${payloadView(payload)} ${signatureView(visit, delivery)}`
  return visit.render({ title: `Delivery ${delivery.id}`, section: 'endpoints', body, isLive: isUnderWay })
}

const PHASES = [
  ['dns', 'name resolved'],
  ['connect', 'connected'],
  ['tls', 'encrypted'],
  ['first_byte', 'first byte'],
] as const

function attemptView({
  number,
  startedAt,
  durationMs,
  httpStatus,
  error,
  phases,
  peer,
  answer,
}: Attempt): Html {
  return html`<section>
    <h3>Attempt ${number}</h3>
    <ul class="numbers">
      <li>${timeOf(startedAt)}</li>
      <li>took <strong>${milliseconds(durationMs)}</strong></li>
      ${httpStatus !== null && html`<li>answered <strong>${httpStatus}</strong></li>`}
      ${error !== '' && html`<li>Failed: ${reasonInWords(error)} (<code>${error}</code>)</li>`}
      ${peer !== '' && html`<li>address <code>${peer}</code></li>`}
      ${PHASES.map(([name, label]) =>
        phases[name] === undefined ? html`` : html`<li>${label} after ${milliseconds(phases[name])}</li>`,
      )}
    </ul>
    ${answer !== '' && html`<pre tabindex="0" aria-label="Beginning of the answer to attempt ${number}">${answer}</pre>`}
  </section>`
}

function payloadView(payload: string | null): Html {
  if (payload === null)
    return html`<p class="soft">Not there: it was not made yet, or its recording was deleted.</p>`
  const shown = payload.slice(0, MAX_SHOWN)
  return html`<pre tabindex="0" aria-label="The body of the request">${shown}</pre>
    ${shown.length < payload.length && html`<p class="soft">The first ${MAX_SHOWN} of ${payload.length} characters.</p>`}`
}

const signatureView = (visit: Visit, { id, eventId, eventType }: DeliveryDetail['delivery']): Html =>
  html`<h2>How it is signed</h2>
    <p>Each attempt has these headers, with its own time in seconds, <var>t</var>:</p>
    <pre tabindex="0" aria-label="Headers">
X-Service-Event: ${eventType}
X-Service-Delivery: ${id}
X-Service-Timestamp: t
X-Service-Signature: sha256=hex(HMAC-SHA256(secret, "t." + body))
webhook-id: ${eventId}
webhook-timestamp: t
webhook-signature: v1,base64(HMAC-SHA256(key, "${eventId}.t." + body))</pre>
    <p>
      <code>secret</code> is your signing secret as text, with its <code>whsec_</code>; <code>key</code> is
      what follows it, decoded from base64 (Standard Webhooks). <code>body</code> is every byte of the request
      body, before any parsing. The page <a href="${visit.path('/signatures')}">Signatures</a> does the sum
      for a request that you received.
    </p>`
