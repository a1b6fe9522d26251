import { BlockedAddressError, NameNotResolvedError } from '@signet/address-guard'
import type { AttemptFailure } from '@signet/webhook-core'
import { shapeOf, wrappedIn } from './error-shape.js'

/** The result of sending one request. Failures are values. */
export type Sent = { kind: 'answered'; status: number } | { kind: 'failed'; error: AttemptFailure }
/** `unsent`: our egress proxy failed before it was asked for the receiver. */
export type SendResult = Sent | { kind: 'unsent' }

const FAILURE_BY_CODE: ReadonlyMap<string, AttemptFailure> = new Map(
  Object.entries({
    ETIMEDOUT: 'timeout',
    UND_ERR_CONNECT_TIMEOUT: 'timeout',
    UND_ERR_HEADERS_TIMEOUT: 'timeout',
    UND_ERR_BODY_TIMEOUT: 'timeout',
    UND_ERR_ABORTED: 'timeout',
    ENOTFOUND: 'dns_error',
    EAI_AGAIN: 'dns_error',
    ECONNREFUSED: 'connection_refused',
    ECONNRESET: 'connection_reset',
    EPIPE: 'connection_reset',
    UND_ERR_SOCKET: 'connection_reset',
    EPROTO: 'tls_error',
    UND_ERR_HEADERS_OVERFLOW: 'invalid_response',
    UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'invalid_response',
    UND_ERR_RES_EXCEEDED_MAX_SIZE: 'invalid_response',
  }),
)

// Errors of the HTTP parser; errors of OpenSSL and certificate checks.
const PARSER_CODE = /^HPE_/
const TLS_CODE =
  /^(ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|CRL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|INVALID_(CA|PURPOSE)|PATH_LENGTH_)/

/**
 * The failure reason for an error from `undici`. A programming error of ours, recognizable because it has no code, is `internal_error`
 * and does not count against the receiver.
 */
export function attemptFailureOf(error: unknown): AttemptFailure | 'http_101' {
  if (error instanceof BlockedAddressError) return 'blocked_address'
  if (error instanceof NameNotResolvedError) return 'dns_error'
  const shape = shapeOf(error)
  const { name, message, code } = shape
  if (name === 'TimeoutError' || name === 'AbortError') return 'timeout'
  // undici reports an unsolicited 101 only through this error.
  if (message === 'bad upgrade') return 'http_101'
  if (message === 'bad response' || name === 'HTTPParserError') return 'invalid_response'
  if (typeof code === 'string') return failureOfCode(code)
  const inner = wrappedIn(shape)
  return inner === undefined ? 'internal_error' : attemptFailureOf(inner)
}

function failureOfCode(code: string): AttemptFailure {
  if (PARSER_CODE.test(code)) return 'invalid_response'
  if (TLS_CODE.test(code)) return 'tls_error'
  return FAILURE_BY_CODE.get(code) ?? 'connection_error'
}
