import type { RequestContext } from '@signet/http'
import type { Request } from 'express'
import { ChallengeError } from '../errors/api-errors.js'
import type { Limits } from '../limits/limits.js'
import { hasScope, SCOPE_CONNECT } from '../oauth/scope.js'
import type { BearerService, Caller } from './bearer-service.js'

type Deps = {
  baseUrl: string
  bearer: BearerService
  limits: Pick<Limits, 'bearerFailures'>
  /** Path of the resource whose metadata the challenge names. By default, that of the service. */
  resourcePath?: string
}

export type Authenticate = (req: Request, context: RequestContext) => Promise<Caller>

const MAX_TOKEN_LENGTH = 512

/**
 * Authentication of /v1 and /mcp (docs/specification.md#bearer-authentication), for a route's `authenticate` step. Returns the caller,
 * or throws 401 with the challenge, 403 if the scope is missing, and 429 after many invalid tokens from one address.
 */
export function bearerAuthentication({ baseUrl, bearer, limits, resourcePath = '' }: Deps): Authenticate {
  const challenges = bearerChallenges(baseUrl, { resourcePath })
  return async (req, context) => {
    const token = bearerToken(req)
    if (token === null) throw challenges.missing()
    const caller = isWellFormed(token) ? await bearer.resolve(token, context) : null
    if (!caller) {
      await limits.bearerFailures(req, context)
      throw challenges.invalid()
    }
    if (!hasScope(caller.scope, SCOPE_CONNECT)) throw challenges.insufficientScope()
    context.fields['account_id'] = caller.accountId
    return caller
  }
}

/** Returns the token of `Authorization: Bearer`: empty if the header has none, null without such a header. */
export function bearerToken(req: Request): string | null {
  const header = /^bearer(?: +(.*))?$/i.exec(req.get('authorization') ?? '')
  return header && (header[1] ?? '').trim()
}

/** Whether a token has a form that is worth looking up. */
export const isWellFormed = (token: string): boolean =>
  token.length <= MAX_TOKEN_LENGTH && /^[A-Za-z0-9._~+/=-]+$/.test(token)

/**
 * Refusals with their `WWW-Authenticate` value, which contains one challenge and no quotes inside values (RFC 6750, RFC 9728 section
 * 5.1).
 */
export function bearerChallenges(baseUrl: string, { scope = SCOPE_CONNECT, resourcePath = '' } = {}) {
  const challenge = (error: string) =>
    `Bearer realm="webhooks", ${error}scope="${scope}", ` +
    `resource_metadata="${baseUrl}/.well-known/oauth-protected-resource${resourcePath}"`
  const invalidToken =
    'error="invalid_token", error_description="The access token is invalid or has expired", '
  const withoutFactor =
    'error="insufficient_user_authentication", error_description="A second factor is needed", '
  const insufficient =
    'error="insufficient_scope", error_description="The access token lacks the scope for this", '
  return {
    missing: () => new ChallengeError('unauthenticated', 'A Bearer token is required', challenge('')),
    invalid: () =>
      new ChallengeError(
        'unauthenticated',
        'The access token is invalid or has expired',
        challenge(invalidToken),
      ),
    insufficientScope: () =>
      new ChallengeError('forbidden', 'The access token lacks the scope for this', challenge(insufficient)),
    /** RFC 9470 section 3. */
    secondFactorMissing: () =>
      new ChallengeError(
        'unauthenticated',
        'This account has a second factor. Sign in with it, and send the JWT of that sign-in',
        challenge(withoutFactor),
      ),
  }
}
