import type { Answer } from '@signet/http'
import { html, type Html } from '@signet/pages'
import { deliveryStatus } from '@signet/webhook-core'
import type { Endpoint } from '@signet/webhook-core/stores'
import type { Payload } from '../deliveries/attempt-log-store.js'
import type { Attempt, DeliveryDetail } from '../deliveries/delivery-row.js'
import type { Texts } from '../pages/texts.js'
import type { PortalContext } from './portal-context.js'
import { live, milliseconds, reasonInWords, statusInWords, timeOf } from './show.js'

/** Maximum characters of a payload that the page shows. */
export const MAX_SHOWN = 50_000

/** One delivery: what was sent, how each attempt went, and how its signature is made. */
export function deliveryPage(
  portal: PortalContext,
  { id: endpointId, url }: Endpoint,
  { delivery, nextAttemptAt, attempts }: DeliveryDetail,
  payload: Payload | null,
): Answer {
  const { t } = portal
  const log = `/endpoints/${endpointId}/deliveries`
  const isUnderWay = delivery.status === deliveryStatus.pending
  const state = html`<p role="status"><strong>${statusInWords(t, delivery.status)}</strong></p>
    <ul class="numbers">
      <li><code>${delivery.eventType}</code></li>
      <li>
        ${t.html('portal.delivery.event', { id: delivery.eventId, a: portal.link(`${log}?event_id=${delivery.eventId}`) })}
      </li>
      <li>${t.html('portal.delivery.created', { time: timeOf(t, delivery.createdAt) })}</li>
      ${nextAttemptAt !== null && html`<li>${t.html('portal.delivery.next', { time: timeOf(t, nextAttemptAt) })}</li>`}
    </ul>
    <h2>${t('portal.log.attempts')}</h2>
    ${
      attempts.length === 0
        ? html`<p class="soft">${t('portal.delivery.no-attempts')}</p>`
        : attempts.map((attempt) => attemptView(t, attempt))
    }`
  const body = html`<p>
      ${t.html('portal.delivery.to', { url, a: portal.link(`/endpoints/${endpointId}`) })}
    </p>
    <div class="actions">
      ${
        !isUnderWay &&
        portal.form(
          `${log}/${delivery.id}/replay`,
          html`<button type="submit">${t('portal.delivery.replay')}</button>`,
        )
      }
      <a class="button plain" href="${portal.path(log)}">${t('portal.log.title')}</a>
    </div>
    ${live(portal, isUnderWay, state)}
    <h2>${t('portal.delivery.sent')}</h2>
    ${payloadView(t, payload)} ${signatureView(portal, delivery)}`
  return portal.render({
    title: t('portal.delivery.title', { id: delivery.id }),
    section: 'endpoints',
    body,
    isLive: isUnderWay,
  })
}

const PHASES = ['dns', 'connect', 'tls', 'first_byte'] as const

function attemptView(
  t: Texts,
  { number, startedAt, durationMs, httpStatus, error, tlsProblem, phases, peer, answer }: Attempt,
): Html {
  return html`<section>
    <h3>${t('portal.delivery.attempt', { number })}</h3>
    <ul class="numbers">
      <li>${timeOf(t, startedAt)}</li>
      <li>${t.html('portal.delivery.took', { time: milliseconds(t, durationMs) })}</li>
      ${httpStatus !== null && html`<li>${t.html('portal.delivery.answered', { status: httpStatus })}</li>`}
      ${error !== '' && html`<li>${t.html('portal.delivery.failure', { reason: reasonInWords(t, error, tlsProblem), name: tlsProblem ?? error })}</li>`}
      ${peer !== '' && html`<li>${t.html('portal.delivery.address', { address: peer })}</li>`}
      ${PHASES.map((name) =>
        phases[name] === undefined
          ? html``
          : html`<li>${t(`portal.delivery.phase.${name}`, { time: milliseconds(t, phases[name]) })}</li>`,
      )}
    </ul>
    ${answer !== '' && html`<pre tabindex="0" aria-label="${t('portal.delivery.answer', { number })}">${answer}</pre>`}
  </section>`
}

function payloadView(t: Texts, payload: Payload | null): Html {
  if (payload === null) return html`<p class="soft">${t('portal.delivery.no-payload')}</p>`
  const { text, bytes } = payload
  return html`<pre tabindex="0" aria-label="${t('portal.delivery.body')}">${text}</pre>
    ${Buffer.byteLength(text) < bytes && html`<p class="soft">${t('portal.delivery.cut', { shown: MAX_SHOWN, all: bytes })}</p>`}`
}

const signatureView = (portal: PortalContext, { id, eventId, eventType }: DeliveryDetail['delivery']): Html =>
  html`<h2>${portal.t('portal.delivery.signed')}</h2>
    <p>${portal.t.html('portal.delivery.signed.headers')}</p>
    <pre tabindex="0" aria-label="${portal.t('portal.headers')}">
X-Service-Event: ${eventType}
X-Service-Delivery: ${id}
X-Service-Timestamp: t
X-Service-Signature: sha256=hex(HMAC-SHA256(secret, "t." + body))
webhook-id: ${eventId}
webhook-timestamp: t
webhook-signature: v1,base64(HMAC-SHA256(key, "${eventId}.t." + body))</pre>
    <p>${portal.t.html('portal.delivery.signed.explained', { a: portal.link('/signatures') })}</p>`
