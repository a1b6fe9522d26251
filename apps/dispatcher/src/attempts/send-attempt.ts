import { signDelivery } from '@signet/webhook-core/signature'
import pTimeout from 'p-timeout'
import type { DeliverySnapshot } from '../deliveries/delivery-store.js'
import type { Observer } from '../observers/observer.js'
import type { SendResult, Sent } from '../sending/attempt-failure.js'
import type { Exchange, ExchangeFacts, Post } from '../sending/http-sender.js'
import { isSuccess } from './retry-decision.js'
import type { OpenSecrets } from './open-secrets.js'
import type { PermitLease } from './permit-lease.js'

export type SendingDeps = {
  secrets: OpenSecrets
  send: (post: Post, accountId: string) => Exchange
  observer: Pick<Observer, 'attemptImpossible'>
  now: () => Date
}

/** The result of a request. */
export type Sending<Result extends SendResult = Sent> = {
  sent: Result
  finishedAt: Date
  facts?: ExchangeFacts
  answer?: string
}

type Request = { snapshot: DeliverySnapshot; body: Buffer; at: Date; lease: PermitLease }

/** How long a failed attempt waits for the beginning of the response body. */
const EXCERPT_MS = 250

/** Sent in addition to the signature headers. */
const FIXED_HEADERS = { 'user-agent': 'Service-Webhooks/1', accept: '*/*' }

/** Signs and sends the request of an attempt. A success gives the permit back as soon as the connection is free. */
export async function sendAttempt(
  { secrets, send, observer, now }: SendingDeps,
  { snapshot, body, at, lease }: Request,
): Promise<Sending<SendResult>> {
  const { endpoint } = snapshot
  try {
    const headers = await signDelivery({
      ...secrets.of(endpoint),
      timestamp: Math.floor(at.getTime() / 1000),
      body,
      deliveryId: snapshot.id,
      eventId: snapshot.eventId,
      eventType: snapshot.eventType,
    })
    const exchange = send(
      { url: new URL(endpoint.url), headers: { ...FIXED_HEADERS, ...headers }, body },
      endpoint.accountId,
    )
    lease.extendUntil(exchange.closed)
    const sent = await exchange.answered
    const finishedAt = now()
    if (isSuccess(sent)) lease.release()
    // Wait a moment for what the receiver says about a failure. After a success the body has usually arrived by now.
    else await pTimeout(exchange.excerpted, { milliseconds: EXCERPT_MS, fallback: () => undefined })
    return { sent, finishedAt, facts: exchange.facts(), answer: exchange.excerpt() }
  } catch (error) {
    observer.attemptImpossible(snapshot.id, error)
    return { sent: { kind: 'failed', error: 'internal_error' }, finishedAt: now() }
  }
}
