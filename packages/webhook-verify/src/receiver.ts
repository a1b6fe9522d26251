import { EventInProgressError, WebhookVerificationError } from './errors.js'
import type { WebhookEvent } from './events.js'
import { DEFAULT_MAX_BYTES, type HandlerOptions } from './handler-options.js'
import type { HeaderSource } from './headers.js'
import { secretsOf } from './secret.js'
import type { RawBody } from './signature.js'
import { verify } from './verify.js'

/** An error answer of this library, in JSON: `{"error": "<code>"}`. */
export type Refusal = { status: number; headers: Record<string, string>; body: string }
type Accepted = { event: WebhookEvent } | { refusal: Refusal }

/** The part that the handlers of all servers share: which requests they accept, and how they answer all others. */
export type Receiver = {
  maxBytes: number
  /** `undefined` means that the body exceeds the limit. */
  accept(rawBody: RawBody | undefined, headers: HeaderSource): Accepted
}

/** Throws immediately if the secret cannot be used. */
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
 * Returns the response to an error of the receiver's function if this library has one, or undefined for errors that the server must
 * handle.
 */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof EventInProgressError)) return undefined
  return refusal(409, error.code)
}

function refusal(status: number, code: string): Refusal {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify({ error: code }) }
}
