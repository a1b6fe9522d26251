import { fieldState, html, type Html } from '@signet/pages'
import { deliveryStatus, type DeliveryStatus } from '@signet/webhook-core'
import type { Visit } from './visit.js'

export const timeOf = (at: Date): Html =>
  html`<time datetime="${at.toISOString()}">${at.toISOString().slice(0, 19).replace('T', ' ')} UTC</time>`

export const timeOr = (at: Date | null, otherwise: string): Html =>
  at === null ? html`<span class="soft">${otherwise}</span>` : timeOf(at)

export const milliseconds = (value: number): string =>
  value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(1)} s`

const STATUS: Readonly<Record<DeliveryStatus, string>> = {
  [deliveryStatus.pending]: 'Pending',
  [deliveryStatus.delivered]: 'Delivered',
  [deliveryStatus.failed]: 'Failed',
}

export const statusInWords = (status: DeliveryStatus): string => STATUS[status]

const REASONS: Readonly<Record<string, string>> = {
  timeout: 'no complete answer in time',
  dns_error: 'the host name could not be resolved',
  blocked_address: 'the address is not one that deliveries may go to',
  connection_refused: 'the connection was refused',
  connection_reset: 'the connection was cut off',
  connection_error: 'no connection could be made',
  tls_error: 'the certificate or the TLS handshake failed',
  invalid_response: 'the answer was not valid HTTP',
  interrupted: 'interrupted on our side; it does not count against you',
  internal_error: 'a failure on our side; it does not count against you',
  endpoint_disabled: 'the endpoint was disabled',
  endpoint_deleted: 'the endpoint was deleted',
  recording_deleted: 'the recording was deleted',
}

/** A failure reason of docs/specification.md#failure-reasons, for people. */
export function reasonInWords(reason: string): string {
  const [, status] = /^http_(\d+)$/.exec(reason) ?? []
  if (status !== undefined) return `it answered ${status}`
  return Object.hasOwn(REASONS, reason) ? (REASONS[reason] ?? reason) : reason
}

/**
 * A part of a page about what is under way. A script keeps it up to date; without one, the link does. It says as of when
 * it is.
 */
export const live = (visit: Visit, isUnderWay: boolean, content: Html): Html =>
  html`<div ${isUnderWay && html`data-live`}>
    ${content}
    <p class="soft">As of ${timeOf(visit.now)}. <a href="${visit.req.originalUrl}">Refresh</a></p>
  </div>`

/** Ties the refusal of a form to its field. */
export const faultAt = ({ refusal }: Visit, name: string): Html => fieldState({ name, fault: refusal?.fault })
