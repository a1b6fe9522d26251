import { route, type Route } from '@signet/http'
import type { RateLimits } from '../rate-limits/rate-limits.js'
import type { Redirects } from '../redirects/redirects.js'
import type { Bearer } from '../bearer/bearer.js'
import { bodyDoc, captcha, challenge } from '../requests/body-docs.js'
import { docs, query } from '../requests/docs.js'
import { captchaFields, jsonBody, type BodyOf } from '../requests/json-body.js'
import type { RequestGuard } from '../bearer/request-guard.js'
import type { AccessTokens } from '../sessions/access-tokens.js'
import { tokenView } from '../sessions/token-view.js'
import type { SignedIn } from '../sessions/session.js'
import { userView } from '../users/user-view.js'
import type { SignUpService } from './sign-up-service.js'

type Deps = {
  signUps: SignUpService
  accessTokens: AccessTokens
  bearer: Bearer
  guard: RequestGuard
  limits: RateLimits
  redirects: Redirects
  now: () => Date
}

const fields = {
  email: 'string',
  phone: 'string',
  password: 'string',
  data: 'object',
  channel: 'string',
  code_challenge: 'string',
  code_challenge_method: 'string',
  ...captchaFields,
} as const

export function signUpRoutes(deps: Deps): Route[] {
  const { signUps, bearer, guard, limits, redirects } = deps
  const signedUpView = async (signedIn: SignedIn) => {
    const answer = await tokenView(deps.accessTokens, signedIn, deps.now())
    // With or without a session, the user's main members are also at the top level (docs/specification.md#autoconfirm).
    const { id, email, phone, confirmation_sent_at, created_at, updated_at } = answer.user
    return { ...answer, id, email, phone, confirmation_sent_at, created_at, updated_at }
  }
  return [
    route<undefined, BodyOf<typeof fields>>({
      method: 'post',
      path: '/signup',
      docs: docs('signUp', 'Sign up with email, phone or anonymously', {
        tag: 'Sign-in',
        parameters: [query('redirect_to', 'Where the confirmation link leads.')],
        description: 'With an email or a phone number and a password; with neither, anonymously.',
        body: bodyDoc([], ['email', 'phone', 'password', 'data', 'channel', ...challenge, ...captcha]),
        answer: { description: 'A user to be confirmed, or a session', schema: 'SignUp' },
        errors: [400, 422, 429],
      }),
      body: jsonBody(fields),
      async handle({ body, req }) {
        const anonymous = (body.email ?? '') === '' && (body.phone ?? '') === ''
        await guard.limit(anonymous ? limits.anonymous : limits.otp('/signup'))(req)
        await guard.captcha(req, body)
        const aud = await bearer.audience(req)
        const meta = guard.metaOf(req)
        if (anonymous)
          return { body: await signedUpView(await signUps.signUpAnonymously(body.data ?? {}, aud, meta)) }
        const result = await signUps.signUp(body, { aud, redirectTo: redirects.targetOf(req) }, meta)
        return {
          body: result.kind === 'pending' ? userView(result.user) : await signedUpView(result.signedIn),
        }
      },
    }),
  ]
}
