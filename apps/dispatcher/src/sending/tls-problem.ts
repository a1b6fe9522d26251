import type { TlsProblem } from '@signet/webhook-core'
import { shapeOf, wrappedIn } from './error-shape.js'

// Codes of certificate checks are those of OpenSSL's X509_V_ERR_*, `ERR_SSL_*` those of its handshake.
const PROBLEM_BY_CODE: ReadonlyMap<string, TlsProblem> = new Map(
  Object.entries({
    CERT_HAS_EXPIRED: 'certificate_expired',
    CERT_NOT_YET_VALID: 'certificate_not_yet_valid',
    ERR_TLS_CERT_ALTNAME_INVALID: 'certificate_for_other_host',
    HOSTNAME_MISMATCH: 'certificate_for_other_host',
    DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate_self_signed',
    SELF_SIGNED_CERT_IN_CHAIN: 'certificate_of_unknown_issuer',
    UNABLE_TO_GET_ISSUER_CERT: 'certificate_of_unknown_issuer',
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate_of_unknown_issuer',
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate_of_unknown_issuer',
    ERR_SSL_WRONG_VERSION_NUMBER: 'no_tls',
    ERR_SSL_PACKET_LENGTH_TOO_LONG: 'no_tls',
    ERR_SSL_HTTP_REQUEST: 'no_tls',
    ERR_SSL_UNSUPPORTED_PROTOCOL: 'old_tls_version',
    ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'old_tls_version',
    ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: 'handshake_refused',
    // The same, as OpenSSL has called it since version 3.2.
    'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE': 'handshake_refused',
    ERR_SSL_TLSV1_ALERT_INSUFFICIENT_SECURITY: 'handshake_refused',
    ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'handshake_refused',
  }),
)

/** What is wrong with the receiver's TLS, if an error from `undici` says so. */
export function tlsProblemOf(error: unknown): TlsProblem | undefined {
  const shape = shapeOf(error)
  if (typeof shape.code === 'string') return PROBLEM_BY_CODE.get(shape.code)
  const inner = wrappedIn(shape)
  return inner === undefined ? undefined : tlsProblemOf(inner)
}
