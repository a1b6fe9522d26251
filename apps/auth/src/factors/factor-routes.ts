import { route, type Route } from '@signet/http'
import type { Request } from 'express'
import { userIdOf } from '../admin/admin-routes.js'
import type { Admin } from '../administrators/admin.js'
import { textOf } from '../admin/paging.js'
import { authError } from '../errors/auth-error.js'
import type { RateLimits } from '../rate-limits/rate-limits.js'
import type { Bearer } from '../bearer/bearer.js'
import { bodyDoc, oneOf } from '../requests/body-docs.js'
import { docs } from '../requests/docs.js'
import { narrowed, throughout } from '../bearer/gates.js'
import { jsonBody, type BodyOf } from '../requests/json-body.js'
import type { RequestGuard } from '../bearer/request-guard.js'
import type { AccessTokens } from '../sessions/access-tokens.js'
import type { Live } from '../sessions/session.js'
import { tokenView } from '../sessions/token-view.js'
import { factorView } from '../users/user-view.js'
import { isUuid } from '../users/uuid.js'
import type { AdminFactorService } from './admin-factor-service.js'
import type { ChallengeService } from './challenge-service.js'
import type { EnrollmentService, Enrolled } from './enrollment-service.js'

type Deps = {
  bearer: Bearer
  guard: RequestGuard
  limits: RateLimits
  enrollments: EnrollmentService
  challenges: ChallengeService
  adminFactors: AdminFactorService
  accessTokens: AccessTokens
  now: () => Date
}

const enrollFields = {
  factor_type: 'string',
  friendly_name: 'string',
  issuer: 'string',
  phone: 'string',
} as const
const verifyFields = { challenge_id: 'string', code: 'string', webauthn: 'object' } as const
const adminFields = { friendly_name: 'string', phone: 'string' } as const

/** Second factors of the signed-in user (docs/specification.md#factors), and of any user for administrators. */
export const factorRoutes = (deps: Deps): Route[] => [...ownRoutes(deps), ...adminRoutes(deps)]

function ownRoutes({ bearer, guard, limits, enrollments, challenges, accessTokens, now }: Deps): Route[] {
  const authenticate = factorCaller(bearer)
  const own = { tag: 'Factors', security: 'user' } as const
  return [
    route<Live, BodyOf<typeof enrollFields>>({
      method: 'post',
      path: '/factors',
      docs: docs('enrollFactor', 'Start enrolling a second factor', {
        ...own,
        body: bodyDoc(['factor_type'], ['friendly_name', 'phone'], {
          'issuer?': {
            type: 'string',
            description: 'Issuer that the authenticator app shows; the host of the site if left out',
          },
        }),
        answer: { description: 'The factor; it counts once it is verified', schema: 'EnrolledFactor' },
        errors: [400, 401, 403, 422, 429],
      }),
      limit: guard.limit(limits.mfaEnroll),
      authenticate: bearer.toAddWayIn(authenticate),
      body: jsonBody(enrollFields),
      handle: async ({ caller, body, req }) => ({
        body: enrolledView(await enrollments.enroll(caller, body, guard.metaOf(req))),
      }),
    }),
    route<Live, BodyOf<{ channel: 'string' }>>({
      method: 'post',
      path: '/factors/:factor_id/challenge',
      docs: docs('challengeFactor', 'Start a challenge for a factor', {
        ...own,
        body: bodyDoc([], ['channel']),
        answer: { description: 'The challenge; a phone factor is sent its code', schema: 'FactorChallenge' },
        errors: [400, 401, 403, 404, 422, 429],
      }),
      limit: guard.limit(limits.mfaChallenge),
      authenticate,
      body: jsonBody({ channel: 'string' }, { optional: true }),
      async handle({ caller, body, req }) {
        const issued = await challenges.challenge(caller, factorIdOf(req), body.channel, guard.metaOf(req))
        const { id, type, expiresAt, webauthn } = issued
        return { body: { id, type, expires_at: Math.floor(expiresAt.getTime() / 1000), webauthn } }
      },
    }),
    route<Live, BodyOf<typeof verifyFields>>({
      method: 'post',
      path: '/factors/:factor_id/verify',
      docs: docs('verifyFactor', 'Verify a challenge', {
        ...own,
        body: bodyDoc(['challenge_id'], ['code'], {
          'webauthn?': {
            type: 'object',
            required: ['type', 'credential_response'],
            properties: {
              type: oneOf(['create', 'request'], 'As the challenge says'),
              credential_response: {
                type: 'object',
                description: 'The browser’s response to the options, as JSON',
              },
            },
            description: 'Of a security key, instead of a code',
          },
        }),
        answer: { description: 'The session, now at aal2, with a new refresh token', schema: 'Session' },
        errors: [400, 401, 403, 404, 422, 429],
      }),
      limit: guard.limit(limits.mfaVerify),
      authenticate,
      body: jsonBody(verifyFields),
      async handle({ caller, body, req }) {
        const signedIn = await challenges.verify(caller, factorIdOf(req), body, guard.metaOf(req))
        return { body: await tokenView(accessTokens, signedIn, now()) }
      },
    }),
    route<Live>({
      method: 'delete',
      path: '/factors/:factor_id',
      docs: docs('unenrollFactor', 'Remove a factor', {
        ...own,
        answer: { description: 'Its id', schema: 'FactorId' },
        errors: [401, 403, 404, 422],
      }),
      authenticate,
      async handle({ caller, req }) {
        const id = factorIdOf(req)
        await enrollments.unenroll(caller, id, guard.metaOf(req))
        return { body: { id } }
      },
    }),
  ]
}

function adminRoutes({ bearer, guard, adminFactors }: Deps): Route[] {
  const gate = throughout(bearer.admin())
  const admin = { tag: 'Administration', security: 'admin' } as const
  const path = '/admin/users/:user_id/factors/:factor_id'
  return [
    route<Admin, BodyOf<typeof adminFields>>({
      method: 'put',
      path,
      docs: docs('updateUserFactor', 'Change a factor of a user', {
        ...admin,
        body: bodyDoc([], ['friendly_name', 'phone']),
        answer: { description: 'The factor', schema: 'Factor' },
        errors: [400, 401, 403, 404, 409, 422],
      }),
      ...gate,
      body: jsonBody(adminFields, { optional: true }),
      handle: async ({ caller, body, req }) => ({
        body: factorView(
          await adminFactors.update(caller, userIdOf(req), factorIdOf(req), body, guard.metaOf(req)),
        ),
      }),
    }),
    route<Admin>({
      method: 'delete',
      path,
      docs: docs('deleteUserFactor', 'Remove a factor of a user', {
        ...admin,
        answer: { description: 'The factor that was removed', schema: 'Factor' },
        errors: [401, 403, 404, 409],
      }),
      ...gate,
      handle: async ({ caller, req }) => ({
        body: factorView(
          await adminFactors.remove(caller, userIdOf(req), factorIdOf(req), guard.metaOf(req)),
        ),
      }),
    }),
  ]
}

/** A user who may have factors: known by an address. */
export const factorCaller = (bearer: Bearer) =>
  narrowed(bearer.change, (caller) => {
    if (caller.user.isAnonymous)
      throw authError('forbidden', 'no_authorization', 'Anonymous user not allowed to perform these actions')
    return caller
  })

function factorIdOf(req: Request): string {
  const id = textOf(req.params['factor_id'])
  if (!isUuid(id)) throw authError('not_found', 'validation_failed', 'factor_id must be a UUID')
  return id.toLowerCase()
}

function enrolledView(enrolled: Enrolled) {
  const { id, type, friendlyName } = enrolled
  const common = { id, type, friendly_name: friendlyName }
  if (enrolled.type === 'webauthn') return common
  if (enrolled.type === 'phone') return { ...common, phone: enrolled.phone }
  return { ...common, totp: { qr_code: enrolled.qrCode, secret: enrolled.secret, uri: enrolled.uri } }
}
