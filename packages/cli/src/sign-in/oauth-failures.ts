import {
  AuthorizationResponseError,
  JSON_ATTRIBUTE_COMPARISON,
  OperationProcessingError,
  ResponseBodyError,
  UnsupportedOperationError,
  WWWAuthenticateChallengeError,
} from 'oauth4webapi'
import { isRecord } from '../api/refusals.js'
import { RefusedError, ServerFailureError } from '../errors.js'

const DENIED_HINT = 'Run the command again and approve it to continue.'
const UNKNOWN_CLIENT_HINT = 'This service does not know the command-line tool as a client; tell its operator.'

/** Turns an error of the OAuth library into a failure with advice. Returns other errors unchanged. */
export function oauthFailure(error: unknown, serviceUrl: string): unknown {
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
    const { error: code, error_description: description } = error
    const message =
      code === 'access_denied'
        ? 'The sign-in was denied in the browser'
        : (description ?? `OAuth error ${code}`)
    return new RefusedError(code, message, { hint: hintFor(code), cause: error })
  }
  if (error instanceof WWWAuthenticateChallengeError) {
    const { error: code = 'unauthorized', error_description: description } = error.cause[0]?.parameters ?? {}
    return new RefusedError(code, description ?? `OAuth error ${code}`, { hint: hintFor(code), cause: error })
  }
  if (error instanceof OperationProcessingError) return processingFailure(error, serviceUrl)
  if (error instanceof UnsupportedOperationError)
    return new ServerFailureError(error.message, { cause: error })
  return error
}

function processingFailure(error: OperationProcessingError, serviceUrl: string): ServerFailureError {
  const issuer = error.code === JSON_ATTRIBUTE_COMPARISON ? issuerOf(error.cause) : undefined
  if (issuer !== undefined) {
    return new ServerFailureError(`The service at ${serviceUrl} calls itself ${issuer}`, {
      hint: `If that is the one you mean, use --url ${issuer}`,
      cause: error,
    })
  }
  return new ServerFailureError(`The response of ${serviceUrl} was not accepted: ${error.message}`, {
    cause: error,
  })
}

function issuerOf(cause: unknown): string | undefined {
  if (!isRecord(cause) || cause['attribute'] !== 'issuer' || !isRecord(cause['body'])) return undefined
  const { issuer } = cause['body']
  return typeof issuer === 'string' ? issuer : undefined
}

function hintFor(code: string): string | undefined {
  if (code === 'access_denied') return DENIED_HINT
  return code === 'invalid_client' ? UNKNOWN_CLIENT_HINT : undefined
}
