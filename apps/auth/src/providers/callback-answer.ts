import { isAppError, type AppError } from '@signet/errors'
import { statusOf, type Answer } from '@signet/http'
import type { AccessTokens } from '../sessions/access-tokens.js'
import { tokenView } from '../sessions/token-view.js'
import { OAUTH_ERRORS, withFragment, withQuery } from '../verify/redirect-answer.js'
import type { CallbackResult } from './callback-service.js'

/** Errors caused by the user, not the client. */
const ACCESS_DENIED = new Set(['signup_disabled', 'user_banned', 'provider_email_needs_verification'])

export const redirect = (status: 302 | 303, location: string): Answer => ({
  status,
  headers: { Location: location, 'Cache-Control': 'no-store' },
})

/** docs/specification.md#providers */
export async function successTarget(
  referrer: string,
  result: CallbackResult,
  accessTokens: AccessTokens,
  now: Date,
): Promise<string> {
  if (result.kind === 'code') return withQuery(referrer, { code: result.code })
  const { tokens, provider, signedIn } = result
  const view = await tokenView(accessTokens, signedIn, now)
  return withFragment(referrer, {
    access_token: view.access_token,
    expires_at: String(view.expires_at),
    expires_in: String(view.expires_in),
    provider,
    provider_token: tokens.accessToken,
    ...(tokens.refreshToken === undefined ? {} : { provider_refresh_token: tokens.refreshToken }),
    refresh_token: view.refresh_token,
    sb: '',
    token_type: view.token_type,
  })
}

/** Before the flow is known, errors can only go to the site: a target that the caller names cannot be trusted. */
export const stateErrorTarget = (siteUrl: string, error: AppError): string =>
  withQuery(siteUrl, errorParameters(error))

/** Puts the error into the query for servers, and into the fragment for clients that read it there. */
export const errorTarget = (referrer: string, error: unknown): string =>
  withBoth(referrer, isAppError(error) ? errorParameters(error) : UNEXPECTED)

/** The error that the provider returned instead of a code. */
export const providerErrorTarget = (referrer: string, error: string, description: string): string =>
  withBoth(referrer, { error, error_description: description })

const UNEXPECTED = {
  error: 'server_error',
  error_code: 'unexpected_failure',
  error_description: 'Unexpected failure, please check server logs for more information',
}

const errorParameters = (error: AppError) => ({
  error: ACCESS_DENIED.has(error.code) ? 'access_denied' : (OAUTH_ERRORS[statusOf(error)] ?? 'server_error'),
  error_code: error.code,
  error_description: error.message,
})

function withBoth(referrer: string, parameters: Readonly<Record<string, string>>): string {
  const [base = ''] = referrer.split('#', 1)
  return withFragment(withQuery(base, parameters), { ...parameters, sb: '' })
}
