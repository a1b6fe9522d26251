/** Why a request was refused. Stable, and safe to log and count: contains no part of the body or of the secret. */
export type VerificationFailure =
  | 'raw_body_required'
  | 'missing_header'
  | 'malformed_header'
  | 'signature_mismatch'
  | 'timestamp_too_old'
  | 'timestamp_in_future'
  | 'invalid_payload'

/** The base class of all errors with which `verify` refuses a request, so that one `instanceof` tells them from programming errors. */
export abstract class WebhookVerificationError extends Error {
  abstract readonly code: VerificationFailure

  constructor(message: string) {
    super(message)
    this.name = new.target.name
  }
}

/**
 * The body was not bytes or text, or other code had read it already, so the signed bytes are gone. This is a mistake in the receiver,
 * not of the sender, so the handlers pass it to the server's own error handling, where somebody notices it.
 */
export class RawBodyRequiredError extends WebhookVerificationError {
  readonly code = 'raw_body_required'

  constructor() {
    super(
      'The raw request body is needed, as bytes or text. A body parser ran before the verification; ' +
        'mount the verification before it, or keep the raw bytes in req.rawBody.',
    )
  }
}

export class MissingHeaderError extends WebhookVerificationError {
  readonly code = 'missing_header'

  constructor(readonly header: string) {
    super(`Header ${header} is missing`)
  }
}

/** A header is present, but repeated or not in its documented form. */
export class MalformedHeaderError extends WebhookVerificationError {
  readonly code = 'malformed_header'

  constructor(readonly header: string) {
    super(`Header ${header} is repeated or not in its documented form`)
  }
}

/** The signature was not made with this secret over exactly these bytes. */
export class SignatureMismatchError extends WebhookVerificationError {
  readonly code = 'signature_mismatch'

  constructor() {
    super('The signature does not match the body, the timestamp and the secret')
  }
}

/** Correctly signed, but longer ago than the tolerance: a replay, or a receiver with a wrong clock. */
export class TimestampTooOldError extends WebhookVerificationError {
  readonly code = 'timestamp_too_old'

  constructor(
    readonly ageSeconds: number,
    readonly toleranceSeconds: number,
  ) {
    super(`Signed ${ageSeconds} s ago, more than the tolerance of ${toleranceSeconds} s`)
  }
}

/** Correctly signed, but for a time further ahead than the tolerance: one of the two clocks is wrong. */
export class TimestampInFutureError extends WebhookVerificationError {
  readonly code = 'timestamp_in_future'

  constructor(
    readonly aheadSeconds: number,
    readonly toleranceSeconds: number,
  ) {
    super(`Signed for ${aheadSeconds} s ahead, more than the tolerance of ${toleranceSeconds} s`)
  }
}

/** Correctly signed, but the body is not an event envelope. Worth an alert: the fault is the sender's. */
export class InvalidPayloadError extends WebhookVerificationError {
  readonly code = 'invalid_payload'

  constructor(problem: string) {
    super(`The body is correctly signed but is not an event: ${problem}`)
  }
}

/**
 * The secret cannot verify anything. This is a mistake of the caller, independent of the request. The message reveals no part of the
 * secret.
 */
export class InvalidSecretError extends TypeError {
  override readonly name = 'InvalidSecretError'

  constructor(problem: string) {
    super(`The webhook secret cannot be used: ${problem}`)
  }
}

/**
 * Another delivery of this event is being processed. Not a refusal: `deduplicate` throws it, and handlers answer 409, so that the
 * sender tries again.
 */
export class EventInProgressError extends Error {
  override readonly name = 'EventInProgressError'
  readonly code = 'in_progress'

  constructor(readonly eventId: string) {
    super('Another delivery of this event is being processed')
  }
}
