import { AppError, type AppErrorOptions, type ErrorKind } from '@signet/errors'

/** Error codes of RFC 6749 sections 4.1.2.1 and 5.2, RFC 7591, RFC 8707 and OpenID Connect that this server uses. */
const KINDS = {
  invalid_request: 'invalid',
  invalid_client: 'unauthenticated',
  invalid_grant: 'invalid',
  unauthorized_client: 'invalid',
  unsupported_grant_type: 'invalid',
  unsupported_response_type: 'invalid',
  invalid_scope: 'invalid',
  invalid_target: 'invalid',
  access_denied: 'invalid',
  login_required: 'invalid',
  consent_required: 'invalid',
  request_not_supported: 'invalid',
  request_uri_not_supported: 'invalid',
  invalid_redirect_uri: 'invalid',
  invalid_client_metadata: 'invalid',
} as const satisfies Record<string, ErrorKind>

export type OAuthErrorCode = keyof typeof KINDS

/** An error in the terms of the OAuth standards: `error` is the code, `error_description` the message (ASCII). */
export class OAuthError extends AppError {
  constructor(
    override readonly code: OAuthErrorCode,
    description: string,
    options: AppErrorOptions = {},
  ) {
    super(KINDS[code], code, printable(description), options)
  }
}

/** The characters that RFC 6749 section 5.2 allows in a description. */
export const printable = (text: string): string => text.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?')
