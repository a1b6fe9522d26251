import { BlockedAddressError, NameNotResolvedError } from '@signet/address-guard'

/** What an attempt can fail of, apart from the status of an answer (contract F.5). */
export type FailureWord =
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
export type CancelWord = 'endpoint_disabled' | 'endpoint_deleted' | 'recording_deleted'

/** The vocabulary of `last_error`: no host, address or text of the receiver ever gets in. */
export type ErrorWord = FailureWord | CancelWord | `http_${number}`

/** Failures on our side say nothing about the receiver, so they do not count toward disabling it. */
export const countsAgainstEndpoint = (word: ErrorWord): boolean =>
  word !== 'internal_error' && word !== 'interrupted'

const WORD_BY_CODE: Readonly<Record<string, FailureWord>> = {
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
}

// The parser's errors; everything OpenSSL and the certificate check report.
const PARSER_CODE = /^HPE_/
const TLS_CODE =
  /^(ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|CRL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|INVALID_(CA|PURPOSE)|PATH_LENGTH_)/

/**
 * The word for an error of sending a request with `undici`. A programming error of ours, recognisable by having no code,
 * is `internal_error`: it must not be held against the receiver.
 */
export function failureWordOf(error: unknown): FailureWord | `http_${number}` {
  if (error instanceof BlockedAddressError) return 'blocked_address'
  if (error instanceof NameNotResolvedError) return 'dns_error'
  const { name, message, code, cause, errors } = shapeOf(error)
  if (name === 'TimeoutError' || name === 'AbortError') return 'timeout'
  // The client has no way to hand over an unasked-for 101 but this error.
  if (message === 'bad upgrade') return 'http_101'
  if (message === 'bad response' || name === 'HTTPParserError') return 'invalid_response'
  if (typeof code === 'string') return wordOfCode(code)
  // Several addresses were tried (AggregateError), or another layer wrapped the cause.
  const inner = Array.isArray(errors) ? (errors as unknown[])[0] : cause
  return inner === undefined ? 'internal_error' : failureWordOf(inner)
}

function wordOfCode(code: string): FailureWord {
  if (PARSER_CODE.test(code)) return 'invalid_response'
  if (TLS_CODE.test(code)) return 'tls_error'
  return WORD_BY_CODE[code] ?? 'connection_error'
}

type ErrorShape = Partial<Record<'name' | 'message' | 'code' | 'cause' | 'errors', unknown>>

/** By shape and not by class: aborts are DOMExceptions, and libraries bring error classes of their own. */
function shapeOf(error: unknown): ErrorShape {
  return typeof error === 'object' && error !== null ? error : {}
}
