import { randomUUID } from 'node:crypto'
import { route, type Route, type RouteDocs } from '@signet/http'
import type { Request } from 'express'
import { RESEND_TYPES } from '../account-requests/account-work.js'
import type { OtpEndpoint, RateLimits } from '../rate-limits/rate-limits.js'
import type { Redirects } from '../redirects/redirects.js'
import type { Bearer } from '../bearer/bearer.js'
import { bodyDoc, captcha, challenge, oneOf } from '../requests/body-docs.js'
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

const flow = { code_challenge: 'string', code_challenge_method: 'string', ...captchaFields } as const
const otpFields = {
  email: 'string',
  phone: 'string',
  create_user: 'boolean',
  data: 'object',
  channel: 'string',
  ...flow,
} as const
const magicLinkFields = { email: 'string', data: 'object', ...flow } as const
const recoverFields = { email: 'string', ...flow } as const
const resendFields = { type: 'string', email: 'string', phone: 'string', ...flow } as const
type OtpBody = BodyOf<typeof otpFields>
type AnyFields = Parameters<typeof jsonBody>[0]

const CREATE_USER =
  'An unknown address is signed up, unless `create_user` says that the account must exist. That is `false` with the header ' +
  '`X-Supabase-Api-Version`, which client libraries send: the answer is 422 `otp_disabled`. Without the header it is `true`: the ' +
  'answer is 200, and nothing is sent.'

const common = {
  tag: 'Sign-in',
  parameters: [query('redirect_to', 'Where the link leads.')],
  errors: [422],
} as const

const otpDocs = docs('sendOtp', 'Sign in with a code', {
  ...common,
  description: `With an email or a phone number. ${CREATE_USER}`,
  body: bodyDoc([], ['email', 'phone', 'create_user', 'data', 'channel', ...challenge, ...captcha]),
  answer: { description: 'Sent, or nothing to send', schema: 'MaybeMessageId' },
})

const magicLinkDocs = docs('sendMagicLink', 'Sign in with a link', {
  ...common,
  description: 'An unknown address is signed up, unless sign-ups are off.',
  body: bodyDoc(['email'], ['data', ...challenge, ...captcha]),
  answer: { description: 'Sent', schema: 'Empty' },
})

const recoverDocs = docs('sendRecovery', 'Recover an account', {
  ...common,
  description: 'The link opens a session, in which the password can be changed.',
  body: bodyDoc(['email'], [...challenge, ...captcha]),
  answer: { description: 'Sent, or no account has the address', schema: 'Empty' },
})

const resendDocs = docs('resendConfirmation', 'Send a confirmation again', {
  ...common,
  description: 'With the address that must be confirmed.',
  body: bodyDoc([], ['email', 'phone', ...challenge, ...captcha], {
    type: oneOf(RESEND_TYPES, 'What to confirm'),
  }),
  answer: { description: 'Sent, or nothing to send', schema: 'MessageId' },
})

/** Endpoints that send a secret to an address (docs/specification.md#one-time-passwords and docs/specification.md#resend). */
export function otpRoutes(deps: Deps): Route[] {
  const { otps, recoveries, resends, bearer, guard } = deps
  const where = async (req: Request) => ({
    aud: await bearer.audience(req),
    redirectTo: deps.redirects.targetOf(req),
  })
  const sending = <F extends AnyFields>(
    path: Exclude<OtpEndpoint, '/signup' | '/user'>,
    fields: F,
    routeDocs: RouteDocs,
    handle: (req: Request, body: BodyOf<F>) => Promise<object>,
  ) =>
    route<undefined, BodyOf<F>>({
      method: 'post',
      path,
      docs: routeDocs,
      limit: guard.limit(deps.limits.otp(path)),
      body: jsonBody(fields),
      async handle({ body, req }) {
        await guard.captcha(req, body)
        return { status: 200, body: await handle(req, body) }
      },
    })

  return [
    sending('/otp', otpFields, otpDocs, async (req, body) => {
      const unknown = unknownOf(req, body)
      await otps.send(body, { ...(await where(req)), unknown }, guard.metaOf(req))
      // Every response has an id made here. The gateway's own id would reveal that something was sent.
      return (body.phone ?? '') !== '' && isVersioned(req) ? { message_id: randomUUID() } : {}
    }),
    sending('/magiclink', magicLinkFields, magicLinkDocs, async (req, body) => {
      await otps.sendMagicLink(body, { ...(await where(req)), unknown: 'sign_up' }, guard.metaOf(req))
      return {}
    }),
    sending('/recover', recoverFields, recoverDocs, async (req, body) => {
      await recoveries.recover(body, await where(req), guard.metaOf(req))
      return {}
    }),
    sending('/resend', resendFields, resendDocs, async (req, body) => {
      await resends.resend(body, await where(req), guard.metaOf(req))
      return { message_id: randomUUID() }
    }),
  ]
}

/** `create_user` means the opposite in the specification and in the client (docs/specification.md#versions). */
function unknownOf(req: Request, body: OtpBody): Unknown {
  if (isVersioned(req)) return body.create_user === false ? 'refuse' : 'sign_up'
  return body.create_user === true ? 'ignore' : 'sign_up'
}
