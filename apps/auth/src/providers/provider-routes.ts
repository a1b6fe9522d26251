import { isAppError } from '@signet/errors'
import { route, statusOf, type Answer, type RequestContext, type Route } from '@signet/http'
import type { Request, Response } from 'express'
import { authError } from '../errors/auth-error.js'
import type { Observer } from '../observers/observer.js'
import type { Redirects } from '../redirects/redirects.js'
import type { Bearer } from '../bearer/bearer.js'
import { docs, query } from '../requests/docs.js'
import type { RequestGuard } from '../bearer/request-guard.js'
import type { AccessTokens } from '../sessions/access-tokens.js'
import type { AuthorizeService } from './authorize-service.js'
import {
  errorTarget,
  providerErrorTarget,
  redirect,
  stateErrorTarget,
  successTarget,
} from './callback-answer.js'
import type { FlowCookies } from './flow-cookies.js'
import type { CallbackParameters, CallbackService } from './callback-service.js'

type Deps = {
  authorizations: AuthorizeService
  callbacks: CallbackService
  accessTokens: AccessTokens
  bearer: Bearer
  guard: RequestGuard
  observer: Observer
  redirects: Redirects
  flowCookies: FlowCookies
  now: () => Date
}

const MAX_FORM_BYTES = 64 * 1024

export const authorizeParameters = [
  query('provider', 'Name of the provider.', true),
  query('scopes', 'Additional scopes, separated by spaces or commas.'),
  query('redirect_to', 'Where to redirect at the end.'),
  query('code_challenge', 'For the PKCE flow.'),
  query('code_challenge_method', '`s256` or `plain`.'),
]

/** Sign-in through external providers (docs/specification.md#providers). */
export function providerRoutes(deps: Deps): Route[] {
  const { authorizations, guard, redirects, flowCookies } = deps
  const back = {
    answer: {
      status: 302,
      description: 'To the site: with a session in the fragment, a code, or an error',
    },
    alternatives: { 303: { description: 'To the site with an error: the state is not acceptable' } },
  }
  return [
    route({
      method: 'get',
      path: '/authorize',
      docs: docs('authorizeProvider', 'Sign in through a provider', {
        tag: 'Sign-in',
        parameters: [...authorizeParameters, query('invite_token', 'Token of an invitation to accept.')],
        answer: { status: 302, description: 'To the provider' },
        errors: [400, 404, 429],
      }),
      async handle({ req, res }) {
        const request = {
          query: textsOf(req.query),
          redirectTo: redirects.targetOf(req),
          linkingTarget: null,
        }
        const departure = await authorizations.begin(request, guard.metaOf(req))
        flowCookies.give(res, departure)
        return redirect(302, departure.url)
      },
    }),
    route({
      method: 'get',
      path: '/callback',
      docs: docs('receiveProviderCallback', 'Return from a provider', {
        tag: 'Sign-in',
        parameters: [
          query('state', 'The state that the provider was given; without it, the site gets an error.'),
          query('code', 'From the provider.'),
        ],
        ...back,
      }),
      handle: ({ req, res, context }) => comeBack(deps, textsOf(req.query), { req, res, context }),
    }),
    route<undefined, Record<string, unknown>>({
      method: 'post',
      path: '/callback',
      docs: docs('receiveProviderFormPost', 'Return from a provider by form post', {
        tag: 'Sign-in',
        body: {
          type: 'object',
          description: 'What the provider posts; without a state, the site gets an error',
          properties: {
            state: { type: 'string', examples: ['7b1e9c52-3f0a-4a8e-9d1f-2c6b5e4a1d30'] },
            code: { type: 'string', examples: ['SplxlOBeZQQYbYS6WxSbIA'] },
          },
        },
        ...back,
      }),
      body: { as: 'form', maxBytes: MAX_FORM_BYTES, optional: true },
      handle: ({ req, res, body, context }) => comeBack(deps, textsOf(body), { req, res, context }),
    }),
  ]
}

async function comeBack(
  { callbacks, accessTokens, bearer, guard, observer, redirects, flowCookies, now }: Deps,
  parameters: CallbackParameters,
  { req, res, context }: { req: Request; res: Response; context: RequestContext },
): Promise<Answer> {
  const { state = '' } = parameters
  // Check this before claiming the flow, so that nobody can end someone else's sign-in.
  const began = state === '' || flowCookies.has(req, state)
  if (!began) return redirect(303, stateErrorTarget(redirects.siteUrl, begunElsewhere()))
  const flow = await callbacks.claim(state).catch((error: unknown) => {
    if (isAppError(error) && statusOf(error) < 500)
      return redirect(303, stateErrorTarget(redirects.siteUrl, error))
    throw error
  })
  if (!('id' in flow)) return flow
  flowCookies.take(res, state)
  const { error = parameters['denied'] === undefined ? '' : 'access_denied' } = parameters
  if (error !== '') {
    await callbacks.abandon(flow)
    return redirect(302, providerErrorTarget(flow.referrer, error, parameters['error_description'] ?? ''))
  }
  try {
    const aud = await bearer.audience(req)
    const result = await callbacks.complete(flow, parameters, aud, guard.metaOf(req))
    return redirect(302, await successTarget(flow.referrer, result, accessTokens, now()))
  } catch (failure) {
    // The answer is a redirect, so the handler that logs server errors never sees the failure.
    if (!isAppError(failure) || statusOf(failure) >= 500)
      observer.providerFailed(
        flow.provider,
        isAppError(failure) ? (failure.cause ?? failure) : failure,
        context,
      )
    return redirect(302, errorTarget(flow.referrer, failure))
  }
}

const begunElsewhere = () =>
  authError('invalid', 'bad_oauth_state', 'This sign-in did not start in this browser, or has expired')

/** The first value of each parameter, if it is text. */
export function textsOf(values: Readonly<Record<string, unknown>>): Record<string, string> {
  const first = (value: unknown): unknown => (Array.isArray(value) ? (value as unknown[])[0] : value)
  const entries = Object.entries(values).map(([name, value]) => [name, first(value)] as const)
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}
