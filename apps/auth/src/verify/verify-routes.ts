import { isAppError, type AppError } from '@signet/errors'
import { route, statusOf, type Answer, type Route } from '@signet/http'
import type { Request } from 'express'
import { invalid } from '../errors/auth-error.js'
import { isPkceLink } from '../one-time-tokens/one-time-token.js'
import type { RateLimits } from '../rate-limits/rate-limits.js'
import type { Redirects } from '../redirects/redirects.js'
import { docs, query } from '../requests/docs.js'
import { jsonBody, type BodyOf } from '../requests/json-body.js'
import type { RequestGuard } from '../bearer/request-guard.js'
import { isVersioned } from '../requests/versioning.js'
import type { AccessTokens } from '../sessions/access-tokens.js'
import { tokenView } from '../sessions/token-view.js'
import { OAUTH_ERRORS, withFragment, withQuery } from './redirect-answer.js'
import { parseLinkType, parseVerifyBody } from './verify-request.js'
import type { Verified, VerifyService } from './verify-service.js'

type Deps = {
  verifications: VerifyService
  accessTokens: AccessTokens
  guard: RequestGuard
  limits: RateLimits
  redirects: Redirects
  now: () => Date
}

const fields = {
  type: 'string',
  token: 'string',
  token_hash: 'string',
  email: 'string',
  phone: 'string',
  password: 'string',
  code_verifier: 'string',
  redirect_to: 'string',
} as const

const FIRST_HALF = 'Confirmation link accepted. Please proceed to confirm link sent to the other email'

export function verifyRoutes(deps: Deps): Route[] {
  const { verifications, guard, limits, redirects } = deps
  const limit = guard.limit(limits.verify)
  return [
    route({
      method: 'get',
      path: '/verify',
      docs: docs('followLink', 'Follow an emailed link', {
        tag: 'Verification',
        parameters: [
          query('type', 'What the link is for.', true),
          query('token', 'The secret of the link.', true),
          query('redirect_to', 'Where to redirect afterwards.'),
        ],
        answer: {
          status: 303,
          description: 'To the site: with a session in the fragment, a code, or an error',
        },
        errors: [400, 429],
      }),
      limit,
      async handle({ req }) {
        // Email previews and scanners send HEAD requests for every link; they must not consume the link.
        if (req.method === 'HEAD') return { status: 204, headers: { 'Cache-Control': 'no-store' } }
        const { type, token } = linkOf(req)
        const target = redirects.targetOf(req)
        const answer = isPkceLink(token) ? 'code' : 'session'
        try {
          const verified = await verifications.verify(
            {
              type: parseLinkType(type),
              proof: { kind: 'link', token },
              answer,
              followed: true,
            },
            guard.metaOf(req),
          )
          return seeOther(await successTarget(deps, target, verified, answer))
        } catch (error) {
          if (!isAppError(error) || statusOf(error) >= 500) throw error
          return seeOther(errorTarget(target, error, answer))
        }
      },
    }),
    route<undefined, BodyOf<typeof fields>>({
      method: 'post',
      path: '/verify',
      docs: docs('verifyOtp', 'Verify a code or the token of a link', {
        tag: 'Verification',
        description:
          'The token of a link requested with a code_challenge needs the code_verifier; a wrong one consumes it.',
        answer: {
          description: 'A session, or a message after the first half of an email change',
          schema: 'Session',
        },
        errors: [400, 403, 422, 429],
      }),
      limit,
      body: jsonBody(fields),
      async handle({ body, req }) {
        const { type, proof } = parseVerifyBody(body)
        const verified = await verifications.verify(
          {
            type,
            proof,
            answer: 'session',
            verifier: body.code_verifier,
            password: body.password,
            requirePassword: type === 'signup' && !isVersioned(req),
          },
          guard.metaOf(req),
        )
        if (verified.kind !== 'signed_in') return { body: { msg: FIRST_HALF, code: '200' } }
        const answer = await tokenView(deps.accessTokens, verified.signedIn, deps.now())
        return { body: (body.phone ?? '') === '' ? { ...answer, type: verified.type } : answer }
      },
    }),
  ]
}

function linkOf(req: Request): { type: string; token: string } {
  const { type, token } = req.query
  if (typeof token !== 'string' || token === '') throw invalid('Verify requires a token')
  if (typeof type !== 'string' || type === '') throw invalid('Verify requires a verification type')
  return { type, token }
}

const seeOther = (location: string): Answer => ({
  status: 303,
  headers: { Location: location, 'Cache-Control': 'no-store' },
})

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
