import { EventInProgressError, WebhookVerificationError } from './errors.js'
import type { WebhookEvent } from './events.js'
import { DEFAULT_MAX_BYTES, type HandlerOptions } from './handler-options.js'
import type { HeaderSource } from './headers.js'
import { secretsOf } from './secret.js'
import type { RawBody } from './signature.js'
import { verify } from './verify.js'

/** An answer that is not the receiver's own: JSON, `{"error": "<code>"}`. */
export type Refusal = { status: number; headers: Record<string, string>; body: string }
type Accepted = { event: WebhookEvent } | { refusal: Refusal }

/** What the handlers of all servers share: what they accept, and how they answer everything else. */
export type Receiver = {
  maxBytes: number
  /** `undefined` stands for a body over the limit. */
  accept(rawBody: RawBody | undefined, headers: HeaderSource): Accepted
}

/** Throws at once when the secret cannot be used. */
export function createReceiver({
  secret,
  maxBytes = DEFAULT_MAX_BYTES,
  onRefusal,
  ...options
}: HandlerOptions): Receiver {
  const secrets = secretsOf(secret)
  return {
    maxBytes,
    accept(rawBody, headers) {
      if (rawBody === undefined) return { refusal: refusal(413, 'body_too_large') }
      try {
        return { event: verify(rawBody, headers, secrets, options) }
      } catch (error) {
        if (!(error instanceof WebhookVerificationError)) throw error
        onRefusal?.(error)
        return { refusal: refusal(400, error.code) }
      }
    },
  }
}

/**
 * The response to a failure of the receiver's function, if it has its own; undefined for all others, which are the
 * server's to handle.
 */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof EventInProgressError)) return undefined
  return refusal(409, error.code)
}

function refusal(status: number, code: string): Refusal {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify({ error: code }) }
}
