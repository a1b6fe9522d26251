import { isAppError, type AppError } from '@signet/errors'
import { statusOf } from '@signet/http'
import { isPkceLink } from '../one-time-tokens/one-time-token.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { AccessTokens } from '../sessions/access-tokens.js'
import { tokenView } from '../sessions/token-view.js'
import { OAUTH_ERRORS, withFragment, withQuery } from './redirect-answer.js'
import { parseLinkType } from './verify-request.js'
import type { Verified, VerifyService } from './verify-service.js'

type EmailedLink = { type: string; token: string; target: string }

/** The URL of the page that asks before it uses a link; null if the link works at once. */
export type LinkPage = (link: EmailedLink) => string | null

type Deps = { verifications: VerifyService; accessTokens: AccessTokens; now: () => Date }

export const FIRST_HALF = 'Confirmation link accepted. Please proceed to confirm link sent to the other email'

/** Uses a link and returns where it leads: to the target with a session, a code or an error. */
export async function followLink(
  deps: Deps,
  { type, token, target }: EmailedLink,
  meta: RequestMeta,
): Promise<string> {
  const answer = isPkceLink(token) ? 'code' : 'session'
  try {
    const proof = { kind: 'link', token } as const
    const request = { type: parseLinkType(type), proof, answer, followed: true } as const
    return await successTarget(deps, target, await deps.verifications.verify(request, meta), answer)
  } catch (error) {
    if (!isAppError(error) || statusOf(error) >= 500) throw error
    return errorTarget(target, error, answer)
  }
}

type AnswerKind = 'session' | 'code'

/** docs/specification.md#links; `sb` marks redirects that this server made. */
async function successTarget(
  deps: Deps,
  target: string,
  verified: Verified,
  answer: AnswerKind,
): Promise<string> {
  switch (verified.kind) {
    case 'code':
      return withQuery(target, { code: verified.code })
    case 'first_half':
      return withFragment(answer === 'code' ? withQuery(target, { message: FIRST_HALF }) : target, {
        message: FIRST_HALF,
        sb: '',
      })
    case 'signed_in': {
      const tokens = await tokenView(deps.accessTokens, verified.signedIn, deps.now())
      return withFragment(target, {
        access_token: tokens.access_token,
        expires_at: String(tokens.expires_at),
        expires_in: String(tokens.expires_in),
        refresh_token: tokens.refresh_token,
        sb: '',
        token_type: tokens.token_type,
        type: verified.type,
      })
    }
  }
}

function errorTarget(target: string, error: AppError, answer: AnswerKind): string {
  const oauthError = OAUTH_ERRORS[statusOf(error)]
  const parameters = {
    ...(oauthError === undefined ? {} : { error: oauthError }),
    error_code: error.code,
    error_description: error.message,
  }
  const [base = ''] = target.split('#', 1)
  return withFragment(answer === 'code' ? withQuery(base, parameters) : base, { ...parameters, sb: '' })
}
