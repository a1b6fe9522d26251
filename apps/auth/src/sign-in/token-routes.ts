import { route, type Answer, type JsonSchema, type Route } from '@signet/http'
import type { Request } from 'express'
import { authError } from '../errors/auth-error.js'
import type { FlowService } from '../code-exchange/flow-service.js'
import type { RateLimits } from '../rate-limits/rate-limits.js'
import type { Bearer } from '../bearer/bearer.js'
import { bodyDoc, captcha, oneOf } from '../requests/body-docs.js'
import { docs, errorDoc, query, ref } from '../requests/docs.js'
import { captchaFields, jsonBody, type BodyOf } from '../requests/json-body.js'
import type { RequestGuard } from '../bearer/request-guard.js'
import { requireManualLinking } from '../providers/identity-routes.js'
import { OAuthRefusal, type IdTokenService } from '../providers/id-token-service.js'
import type { AccessTokens } from '../sessions/access-tokens.js'
import type { RefreshService } from '../sessions/refresh-service.js'
import type { SignedIn } from '../sessions/session.js'
import { tokenView } from '../sessions/token-view.js'
import type { PasswordService } from './password-service.js'

type Deps = {
  passwords: PasswordService
  refresh: RefreshService
  flowExchanges: FlowService
  accessTokens: AccessTokens
  bearer: Bearer
  guard: RequestGuard
  limits: RateLimits
  idTokenSignIns: IdTokenService
  config: { manualLinkingEnabled: boolean }
  now: () => Date
}

const fields = {
  grant_type: 'string',
  email: 'string',
  phone: 'string',
  password: 'string',
  refresh_token: 'string',
  auth_code: 'string',
  code_verifier: 'string',
  id_token: 'string',
  provider: 'string',
  client_id: 'string',
  issuer: 'string',
  nonce: 'string',
  access_token: 'string',
  link_identity: 'boolean',
  ...captchaFields,
} as const
type Body = BodyOf<typeof fields>
type Grant = (req: Request, body: Body) => Promise<Answer>

const GRANT_TYPES = ['password', 'refresh_token', 'pkce', 'id_token', 'web3']

const grantDoc: JsonSchema = {
  description: 'By grant: password, refresh_token, pkce, id_token.',
  anyOf: [
    bodyDoc(['password'], ['email', 'phone', ...captcha]),
    bodyDoc(['refresh_token']),
    bodyDoc(['auth_code'], ['code_verifier']),
    bodyDoc(
      ['id_token', 'provider'],
      ['client_id', 'issuer', 'nonce', 'access_token', 'link_identity', ...captcha],
    ),
  ],
}

/** POST /token (docs/specification.md#tokens). All grants share this path, and each has its own handler. */
export function tokenRoutes(deps: Deps): Route[] {
  const grants = grantsOf(deps)
  return [
    route<undefined, Body>({
      method: 'post',
      path: '/token',
      docs: docs('createSession', 'Get a session', {
        tag: 'Sign-in',
        description: 'The required members of the body depend on the grant.',
        parameters: [
          query('grant_type', 'May be in the body instead.', false, oneOf(GRANT_TYPES, 'The grant')),
        ],
        body: grantDoc,
        answer: { description: 'A session', schema: 'Session' },
        alternatives: { 400: { ...errorDoc(400), schema: ref('OAuthOrOwnError') } },
        errors: [401, 403, 404, 409, 422],
      }),
      limit: deps.guard.limit(deps.limits.token),
      body: jsonBody(fields, { optional: true, form: true }),
      async handle({ body, req, context }) {
        const grantType = grantTypeOf(req, body)
        const grant = grants.get(grantType)
        if (grant === undefined) throw authError('invalid', 'invalid_credentials', 'unsupported_grant_type')
        context.fields['grant_type'] = grantType
        // Every grant needs members in the body. An empty body is only allowed so that the refusals above come first.
        if (Object.keys(body).length === 0 && req.body === undefined)
          throw authError('invalid', 'bad_json', 'Could not read the body: A request body is required')
        const answer = await grant(req, body)
        return { ...answer, headers: { 'Cache-Control': 'no-store' } }
      },
    }),
  ]
}

function grantTypeOf(req: Request, body: Body): string {
  const { grant_type: fromQuery } = req.query
  return typeof fromQuery === 'string' ? fromQuery : (body.grant_type ?? '')
}

function grantsOf({
  passwords,
  refresh,
  flowExchanges,
  accessTokens,
  bearer,
  guard,
  limits,
  idTokenSignIns,
  config,
  now,
}: Deps): Map<string, Grant> {
  const mayLink = bearer.toAddWayIn(bearer.changeStrongly)
  const linkingPurpose = async (req: Request) => {
    requireManualLinking(config.manualLinkingEnabled)
    const { user, session } = await mayLink(req)
    return { kind: 'link', userId: user.id, sessionId: session.id } as const
  }
  const signInPurpose = async (req: Request) =>
    ({ kind: 'sign_in', aud: await bearer.audience(req) }) as const
  const view = (signedIn: SignedIn) => tokenView(accessTokens, signedIn, now())
  return new Map<string, Grant>([
    [
      'password',
      async (req, body) => {
        await guard.captcha(req, body)
        const { signedIn, weakPassword } = await guard.sparing(limits.token, req, () =>
          passwords.signIn(body, guard.metaOf(req)),
        )
        return { body: { ...(await view(signedIn)), weak_password: weakPassword ?? undefined } }
      },
    ],
    [
      'refresh_token',
      async (req, body) => ({
        body: await view(await refresh.refresh(body.refresh_token ?? '', guard.metaOf(req))),
      }),
    ],
    [
      'pkce',
      async (req, body) => {
        const { signedIn, providerToken, providerRefreshToken } = await flowExchanges.exchange(
          body,
          guard.metaOf(req),
        )
        return {
          body: {
            ...(await view(signedIn)),
            provider_token: providerToken,
            provider_refresh_token: providerRefreshToken,
          },
        }
      },
    ],
    [
      'id_token',
      async (req, body) => {
        try {
          const purpose = body.link_identity ? await linkingPurpose(req) : await signInPurpose(req)
          return { body: await view(await idTokenSignIns.signIn(body, purpose, guard.metaOf(req))) }
        } catch (error) {
          if (!(error instanceof OAuthRefusal)) throw error
          // Only this grant answers in the form of OAuth (docs/specification.md#oauth-errors).
          return { status: 400, body: { error: error.error, error_description: error.description } }
        }
      },
    ],
    [
      'web3',
      () => {
        throw authError('unprocessable', 'web3_provider_disabled', 'Web3 provider is disabled')
      },
    ],
  ])
}
