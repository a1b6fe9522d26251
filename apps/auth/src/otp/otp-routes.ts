import { randomUUID } from 'node:crypto'
import { route, type Route } from '@signet/http'
import type { Request } from 'express'
import type { OtpEndpoint, RateLimits } from '../rate-limits/rate-limits.js'
import type { Redirects } from '../redirects/redirects.js'
import type { Bearer } from '../bearer/bearer.js'
import { docs, query } from '../requests/docs.js'
import { captchaFields, jsonBody, type BodyOf } from '../requests/json-body.js'
import type { RequestGuard } from '../bearer/request-guard.js'
import { isVersioned } from '../requests/versioning.js'
import type { OtpService, Unknown } from './otp-service.js'
import type { RecoveryService } from './recovery-service.js'
import type { ResendService } from './resend-service.js'

type Deps = {
  otps: OtpService
  recoveries: RecoveryService
  resends: ResendService
  bearer: Bearer
  guard: RequestGuard
  limits: RateLimits
  redirects: Redirects
}

const fields = {
  type: 'string',
  email: 'string',
  phone: 'string',
  create_user: 'boolean',
  data: 'object',
  channel: 'string',
  code_challenge: 'string',
  code_challenge_method: 'string',
  ...captchaFields,
} as const
type Body = BodyOf<typeof fields>

const CREATE_USER =
  'What happens to an unknown address depends on `create_user`. With the header `X-Supabase-Api-Version`, `false` answers ' +
  '422 `otp_disabled` and everything else signs up. Without it, `true` means that the account must exist: the answer is ' +
  '200, and nothing is sent; everything else signs up.'

const redirectTo = [query('redirect_to', 'Where the link leads.')]

/** Endpoints that send a secret to an address (docs/specification.md#one-time-passwords and docs/specification.md#resend). */
export function otpRoutes(deps: Deps): Route[] {
  const { otps, recoveries, resends, bearer, guard } = deps
  const where = async (req: Request) => ({
    aud: await bearer.audience(req),
    redirectTo: deps.redirects.targetOf(req),
  })
  const sending = (
    path: Exclude<OtpEndpoint, '/signup' | '/user'>,
    operationId: string,
    summary: string,
    answer: string,
    handle: (req: Request, body: Body) => Promise<object>,
    description?: string,
  ) =>
    route<undefined, Body>({
      method: 'post',
      path,
      docs: docs(operationId, summary, {
        tag: 'Sign-in',
        parameters: redirectTo,
        answer: { description: answer },
        errors: [400, 422, 429],
        ...(description === undefined ? {} : { description }),
      }),
      limit: guard.limit(deps.limits.otp(path)),
      body: jsonBody(fields),
      async handle({ body, req }) {
        await guard.captcha(req, body)
        return { status: 200, body: await handle(req, body) }
      },
    })

  return [
    sending(
      '/otp',
      'sendOtp',
      'Sign in with a code',
      'Sent, or nothing to send',
      async (req, body) => {
        const unknown = unknownOf(req, body)
        await otps.send(body, { ...(await where(req)), unknown }, guard.metaOf(req))
        // Every answer has an id of our own: the gateway's would reveal that something was sent.
        return (body.phone ?? '') !== '' && isVersioned(req) ? { message_id: randomUUID() } : {}
      },
      CREATE_USER,
    ),
    sending('/magiclink', 'sendMagicLink', 'Sign in with a link', 'Sent', async (req, body) => {
      await otps.sendMagicLink(body, { ...(await where(req)), unknown: 'sign_up' }, guard.metaOf(req))
      return {}
    }),
    sending(
      '/recover',
      'sendRecovery',
      'Recover an account',
      'Sent, or nobody has the address',
      async (req, body) => {
        await recoveries.recover(body, await where(req), guard.metaOf(req))
        return {}
      },
    ),
    sending(
      '/resend',
      'resendConfirmation',
      'Send a confirmation again',
      'Sent, or nothing to send',
      async (req, body) => {
        await resends.resend(body, await where(req), guard.metaOf(req))
        return { message_id: randomUUID() }
      },
    ),
  ]
}

/** `create_user` means opposite things to the specification and to the client (docs/specification.md#versions). */
function unknownOf(req: Request, body: Body): Unknown {
  if (isVersioned(req)) return body.create_user === false ? 'refuse' : 'sign_up'
  return body.create_user === true ? 'ignore' : 'sign_up'
}
