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

/** The causes of `tls_error`, shown in the attempts of a delivery. */
export const tlsProblems = [
  'certificate_expired',
  'certificate_not_yet_valid',
  'certificate_for_other_host',
  'certificate_self_signed',
  'certificate_of_unknown_issuer',
  'old_tls_version',
  'no_tls',
  'handshake_refused',
] as const
export type TlsProblem = (typeof tlsProblems)[number]

/** Why a delivery ended without an attempt. */
export type CancelReason = 'endpoint_disabled' | 'endpoint_deleted' | 'recording_deleted'

/** All values of `last_error`. It never contains a host, an address or text from the receiver. */
export type FailureReason = AttemptFailure | CancelReason | `http_${number}`

/** Failures on our side say nothing about the receiver and do not count toward disabling it. */
export const countsAgainstEndpoint = (reason: FailureReason): boolean =>
  reason !== 'internal_error' && reason !== 'interrupted'
