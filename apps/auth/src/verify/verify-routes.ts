import { route, type Answer, type Route } from '@signet/http'
import type { Request } from 'express'
import { invalid } from '../errors/auth-error.js'
import type { RateLimits } from '../rate-limits/rate-limits.js'
import type { Redirects } from '../redirects/redirects.js'
import { bodyDoc, oneOf } from '../requests/body-docs.js'
import { docs, query } from '../requests/docs.js'
import { jsonBody, type BodyOf } from '../requests/json-body.js'
import type { Bearer } from '../bearer/bearer.js'
import type { RequestGuard } from '../bearer/request-guard.js'
import { isVersioned } from '../requests/versioning.js'
import type { AccessTokens } from '../sessions/access-tokens.js'
import { tokenView } from '../sessions/token-view.js'
import { FIRST_HALF, followLink, type LinkPage } from './follow-link.js'
import { EMAIL_TYPES, isChange, parseVerifyBody, PHONE_TYPES } from './verify-request.js'
import type { VerifyService } from './verify-service.js'

type Deps = {
  verifications: VerifyService
  accessTokens: AccessTokens
  bearer: Bearer
  guard: RequestGuard
  limits: RateLimits
  redirects: Redirects
  /** The page that asks before it uses a link; null for links that work at once. */
  linkPage: LinkPage
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

export function verifyRoutes(deps: Deps): Route[] {
  const { verifications, bearer, guard, limits, redirects } = deps
  const limit = guard.limit(limits.verify)
  return [
    route({
      method: 'get',
      path: '/verify',
      docs: docs('followLink', 'Follow an emailed link', {
        tag: 'Verification',
        parameters: [
          query(
            'type',
            `What the link is for: ${EMAIL_TYPES.join(', ')}. Any other redirects back with an error.`,
            true,
          ),
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
        const link = { ...linkOf(req), target: redirects.targetOf(req) }
        const page = deps.linkPage(link)
        if (page !== null) return seeOther(page)
        // Email previews and scanners send HEAD for every link. That must neither use the link nor reveal whether it still works.
        if (req.method === 'HEAD') return { status: 204, headers: { 'Cache-Control': 'no-store' } }
        return seeOther(await followLink(deps, link, guard.metaOf(req)))
      },
    }),
    route<undefined, BodyOf<typeof fields>>({
      method: 'post',
      path: '/verify',
      docs: docs('verifyOtp', 'Verify a code or the token of a link', {
        tag: 'Verification',
        description:
          'The token of a link requested with a code_challenge needs the code_verifier; a wrong one consumes it. ' +
          'A code that changes an address works with the access token of its user, or in the network that requested it.',
        body: bodyDoc(
          [],
          ['token', 'token_hash', 'email', 'phone', 'password', 'code_verifier', 'redirect_to'],
          {
            type: oneOf([...EMAIL_TYPES, ...PHONE_TYPES], 'What the token is for'),
          },
        ),
        answer: {
          description: 'A session, or a message after the first half of an email change',
          schema: 'Verified',
        },
        errors: [403, 422],
      }),
      limit,
      body: jsonBody(fields),
      async handle({ body, req }) {
        const { type, proof } = parseVerifyBody(body)
        const user = isChange(type) ? await bearer.userOf(req) : null
        const verified = await verifications.verify(
          {
            type,
            proof,
            typist: user === null ? undefined : { userId: user.id },
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
