import { describe, expect, it } from '@jest/globals'
import { BlockedAddressError, NameNotResolvedError } from '@signet/address-guard'
import { errors } from 'undici'
import { attemptFailureOf } from './attempt-failure.js'

const withCode = (code: string) => Object.assign(new Error('secret.example.com said no'), { code })

describe('attemptFailureOf', () => {
  it.each([
    [new BlockedAddressError('x'), 'blocked_address'],
    [new NameNotResolvedError('x'), 'dns_error'],
    [new DOMException('x', 'TimeoutError'), 'timeout'],
    [new DOMException('x', 'AbortError'), 'timeout'],
    [new errors.ConnectTimeoutError(), 'timeout'],
    [new errors.HeadersTimeoutError(), 'timeout'],
    [new errors.SocketError('other side closed'), 'connection_reset'],
    [new errors.SocketError('bad upgrade'), 'http_101'],
    [new errors.SocketError('bad response'), 'invalid_response'],
    [new errors.HeadersOverflowError(), 'invalid_response'],
    [withCode('HPE_INVALID_CONSTANT'), 'invalid_response'],
    [withCode('ECONNREFUSED'), 'connection_refused'],
    [withCode('ECONNRESET'), 'connection_reset'],
    [withCode('EHOSTUNREACH'), 'connection_error'],
    [withCode('ENETUNREACH'), 'connection_error'],
    [withCode('ETIMEDOUT'), 'timeout'],
    [withCode('CERT_HAS_EXPIRED'), 'tls_error'],
    [withCode('DEPTH_ZERO_SELF_SIGNED_CERT'), 'tls_error'],
    [withCode('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), 'tls_error'],
    [withCode('ERR_TLS_CERT_ALTNAME_INVALID'), 'tls_error'],
    [withCode('ERR_SSL_WRONG_VERSION_NUMBER'), 'tls_error'],
    [withCode('EPROTO'), 'tls_error'],
    [new AggregateError([withCode('ECONNREFUSED'), withCode('ENETUNREACH')]), 'connection_refused'],
    [new Error('wrapped', { cause: withCode('ECONNRESET') }), 'connection_reset'],
    // A receiver is not to blame for a proxy of ours that is away.
    [new TypeError('x is not a function'), 'internal_error'],
    ['thrown text', 'internal_error'],
    [null, 'internal_error'],
    [undefined, 'internal_error'],
    [new errors.HTTPParserError('bad response, without a code'), 'invalid_response'],
    [withCode('UND_ERR_BODY_TIMEOUT'), 'timeout'],
    [withCode('UND_ERR_ABORTED'), 'timeout'],
    [withCode('ENOTFOUND'), 'dns_error'],
    [withCode('EAI_AGAIN'), 'dns_error'],
    [withCode('EPIPE'), 'connection_reset'],
    [withCode('UND_ERR_RES_CONTENT_LENGTH_MISMATCH'), 'invalid_response'],
    [withCode('UND_ERR_RES_EXCEEDED_MAX_SIZE'), 'invalid_response'],
    // Only the beginning of a code says which library it belongs to.
    [withCode('OTHER_HPE_CODE'), 'connection_error'],
    [withCode('NO_CERT_AT_ALL'), 'connection_error'],
  ])('%p is %s', (error, reason) => {
    expect(attemptFailureOf(error)).toBe(reason)
  })
})
