/** Why an attempt failed, other than by its HTTP status (apps/webhooks/docs/specification.md#failure-reasons). */
export type AttemptFailure =
  | 'timeout'
  | 'dns_error'
  | 'blocked_address'
  | 'connection_refused'
  | 'connection_reset'
  | 'connection_error'
  | 'tls_error'
  | 'invalid_response'
  | 'interrupted'
  | 'internal_error'

/** Why a delivery ended without an attempt. */
export type CancelReason = 'endpoint_disabled' | 'endpoint_deleted' | 'recording_deleted'

/** All values of `last_error`. It never contains a host, an address or text from the receiver. */
export type FailureReason = AttemptFailure | CancelReason | `http_${number}`

/** Failures on our side say nothing about the receiver and do not count toward disabling it. */
export const countsAgainstEndpoint = (reason: FailureReason): boolean =>
  reason !== 'internal_error' && reason !== 'interrupted'
