import { setTimeout as sleep } from 'node:timers/promises'
import { signedHeaders } from '@signet/standard-webhooks'
import type { Outbound } from '../outbound/outbound.js'
import { exponentialDelay, type OutboxHandler } from '../outbox/outbox-handler.js'
import { ACCOUNT_EVENT } from './account-event-store.js'

/** The URL that receives account events, and the key that signs them. */
export type EventTarget = { url: string; key: Buffer }

type Deps = {
  /** Maximum number of concurrent attempts. */
  concurrency: number
  outbound: Pick<Outbound, 'request'>
  target: EventTarget | null
  now: () => Date
}

// Every event is delivered within five seconds after an outage of either service ends (docs/account-events.md#how-soon). The test beside
// this file adds these times up.
const TIMEOUT_MS = 2000
const FIRST_RETRY_MS = 250
const MAX_RETRY_MS = 1000
/** After a failure, no event is sent for this long: thousands may be pending. */
const PAUSE_MS = 500
/** Kept short, because an event claimed by a sender that was killed has to wait until the claim ends. */
const REPORT_MS = 500

/** An account event is never dropped: until it is delivered, someone keeps access to another service that was revoked here. */
export function accountEventHandler({ concurrency, outbound, target, now }: Deps): OutboxHandler<object> {
  let failedAt = -Infinity
  return {
    kind: ACCOUNT_EVENT,
    plain: true,
    concurrency,
    ordered: true,
    attemptMs: TIMEOUT_MS + PAUSE_MS,
    reportMs: REPORT_MS,
    retryDelayMs: exponentialDelay(FIRST_RETRY_MS, MAX_RETRY_MS),
    async send(payload, { id }) {
      // Account events are off, so the row is simply removed.
      if (target === null) return
      await sleep(Math.max(0, failedAt + PAUSE_MS - performance.now()))
      try {
        await post(outbound, target, { id, body: JSON.stringify(payload), at: now() })
        failedAt = -Infinity
      } catch (error) {
        failedAt = performance.now()
        throw error
      }
    },
  }
}

async function post(
  outbound: Deps['outbound'],
  { url, key }: EventTarget,
  message: { id: string; body: string; at: Date },
): Promise<void> {
  const { status } = await outbound.request({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json', ...signedHeaders([key], message) },
    body: message.body,
    timeoutMs: TIMEOUT_MS,
  })
  if (status < 200 || status > 299) throw new Error(`the receiver of account events answered ${status}`)
}
