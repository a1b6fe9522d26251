import { randomUUID } from 'node:crypto'
import { route, type RequestContext, type Route } from '@signet/http'
import { type Request } from 'express'
import { type OtpEndpoint, type RateLimits } from '../rate-limits/rate-limits.js'
import { type RedirectConfig } from '../redirects/redirects.js'
import { referrerOf } from '../redirects/referrer.js'
import { type Bearer } from '../requests/bearer.js'
import { docs, query } from '../requests/docs.js'
import { captchaFields, jsonBody, type BodyOf } from '../requests/json-body.js'
import { type RequestGuard } from '../requests/request-guard.js'
import { isVersioned } from '../requests/versioning.js'
import { type OtpService, type Unknown } from './otp-service.js'
import { type RecoveryService } from './recovery-service.js'
import { type ResendService } from './resend-service.js'

type Deps = {
  otps: OtpService
  recoveries: RecoveryService
  resends: ResendService
  bearer: Bearer
  guard: RequestGuard
  limits: RateLimits
  redirects: RedirectConfig
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

const redirectTo = [query('redirect_to', 'Where the link leads.')]

/** Endpoints that send a secret to an address (contract 1.9 to 1.12). */
export function otpRoutes(deps: Deps): Route[] {
  const { otps, recoveries, resends, bearer, guard } = deps
  const where = async (req: Request) => ({
    aud: await bearer.audience(req),
    redirectTo: referrerOf(req, deps.redirects),
  })
  const sending = (
    path: Exclude<OtpEndpoint, '/signup' | '/user'>,
    summary: string,
    answer: string,
    handle: (req: Request, body: Body, context: RequestContext) => Promise<object>,
  ) =>
    route<undefined, Body>({
      method: 'post',
      path,
      docs: docs(summary, {
        tag: 'Sign-in',
        parameters: redirectTo,
        answer: { description: answer },
        errors: [400, 422, 429],
      }),
      limit: guard.limit(deps.limits.otp(path)),
      body: jsonBody(fields),
      async handle({ body, req, context }) {
        await guard.captcha(req, body)
        return { status: 200, body: await handle(req, body, context) }
      },
    })

  return [
    sending('/otp', 'Sign in with a code', 'Sent, or nothing to send', async (req, body) => {
      const unknown = unknownOf(req, body)
      const messageId = await otps.send(body, { ...(await where(req)), unknown }, guard.metaOf(req))
      return messageId !== null && isVersioned(req) ? { message_id: messageId } : {}
    }),
    sending('/magiclink', 'Sign in with a link', 'Sent', async (req, body) => {
      await otps.sendMagicLink(body, { ...(await where(req)), unknown: 'sign_up' }, guard.metaOf(req))
      return {}
    }),
    sending('/recover', 'Recover an account', 'Sent, or nobody has the address', async (req, body) => {
      await recoveries.recover(body, await where(req), guard.metaOf(req))
      return {}
    }),
    sending(
      '/resend',
      'Send a confirmation again',
      'Sent, or nothing to send',
      async (req, body, context) => {
        const gatewayId = await resends.resend(body, await where(req), guard.metaOf(req))
        // Always an id of our own: the gateway's would tell that something was sent.
        const messageId = randomUUID()
        if (gatewayId !== null)
          Object.assign(context.fields, { message_id: messageId, gateway_message_id: gatewayId })
        return { message_id: messageId }
      },
    ),
  ]
}

/** `create_user` means opposite things to the specification and to the client (contract 0.2). */
function unknownOf(req: Request, body: Body): Unknown {
  if (isVersioned(req)) return body.create_user === false ? 'refuse' : 'sign_up'
  return body.create_user === true ? 'ignore' : 'sign_up'
}
