import { randomUUID } from 'node:crypto'
import { route, type Route } from '@signet/http'
import type { Request } from 'express'
import { invalid } from '../errors/auth-error.js'
import type { RateLimits } from '../rate-limits/rate-limits.js'
import type { Redirects } from '../redirects/redirects.js'
import { isMeantFor } from '../requests/audiences.js'
import type { Bearer, Caller, Leaver, Reader } from '../bearer/bearer.js'
import { bodyDoc, challenge, oneOf } from '../requests/body-docs.js'
import { docs, query } from '../requests/docs.js'
import { jsonBody, type BodyOf } from '../requests/json-body.js'
import type { RequestGuard } from '../bearer/request-guard.js'
import { logoutScopes, type LogoutScope, type SessionService } from '../sessions/session-service.js'
import { userView } from '../users/user-view.js'
import type { ReauthenticationService } from './reauthentication-service.js'
import type { UserUpdateService } from './user-update-service.js'

type Deps = {
  bearer: Bearer
  guard: RequestGuard
  sessions: SessionService
  userUpdates: UserUpdateService
  reauthentications: ReauthenticationService
  limits: RateLimits
  redirects: Redirects
}

const updateFields = {
  email: 'string',
  phone: 'string',
  password: 'string',
  data: 'object',
  app_metadata: 'object',
  nonce: 'string',
  channel: 'string',
  current_password: 'string',
  code_challenge: 'string',
  code_challenge_method: 'string',
} as const

/** Reads and changes the signed-in user (docs/specification.md#the-signed-in-user), reauthenticates, and ends sessions. */
export function accountRoutes(deps: Deps): Route[] {
  const { bearer, guard, sessions } = deps
  return [
    route<Reader>({
      method: 'get',
      path: '/user',
      docs: docs('getUser', 'The signed-in user', {
        tag: 'Account',
        security: 'user',
        answer: { description: 'The user', schema: 'User' },
        errors: [400, 401, 403],
      }),
      authenticate: bearer.read,
      handle({ caller }) {
        if (!isMeantFor(caller.claims, caller.aud))
          throw invalid("Token audience doesn't match request audience")
        return { body: userView(caller.user) }
      },
    }),
    route<Caller, BodyOf<typeof updateFields>>({
      method: 'put',
      path: '/user',
      docs: docs('updateUser', 'Change the signed-in user', {
        tag: 'Account',
        security: 'user',
        parameters: [query('redirect_to', 'Where the confirmation link leads.')],
        body: bodyDoc(
          [],
          [
            'email',
            'phone',
            'password',
            'current_password',
            'nonce',
            'data',
            'app_metadata',
            'channel',
            ...challenge,
          ],
        ),
        answer: { description: 'The user; a new address is pending until it is confirmed', schema: 'User' },
        errors: [400, 401, 403, 422, 429],
      }),
      limit: guard.limit(deps.limits.otp('/user')),
      authenticate: bearer.change,
      body: jsonBody(updateFields, { optional: true }),
      async handle({ caller, body, req }) {
        const redirectTo = deps.redirects.targetOf(req)
        const user = await deps.userUpdates.update({ ...caller, redirectTo }, body, guard.metaOf(req))
        return { body: userView(user) }
      },
    }),
    route<Caller>({
      method: 'get',
      path: '/reauthenticate',
      docs: docs('reauthenticate', 'Send a nonce for a password change', {
        tag: 'Account',
        security: 'user',
        description: 'To the email address, otherwise the phone number. `PUT /user` takes it as `nonce`.',
        answer: { description: 'Sent', schema: 'MaybeMessageId' },
        errors: [400, 401, 403, 422, 429],
      }),
      authenticate: bearer.change,
      async handle({ caller, req }) {
        const channel = await deps.reauthentications.sendNonce(caller.user, guard.metaOf(req))
        return { body: channel === 'phone' ? { message_id: randomUUID() } : {} }
      },
    }),
    route<Leaver>({
      method: 'post',
      path: '/logout',
      docs: docs('logout', 'End sessions', {
        tag: 'Account',
        security: 'user',
        description:
          'Sessions can no longer be refreshed; issued access tokens stay valid until they expire.',
        parameters: [
          query('scope', 'Which sessions; all if left out.', false, oneOf(logoutScopes, 'The scope')),
        ],
        body: bodyDoc([]),
        answer: { status: 204, description: 'Done' },
        errors: [400, 401, 403],
      }),
      authenticate: bearer.signOut,
      body: jsonBody({}, { optional: true }),
      async handle({ caller, req }) {
        await sessions.logout(caller, scopeOf(req), guard.metaOf(req))
      },
    }),
  ]
}

function scopeOf(req: Request): LogoutScope {
  const { scope = '' } = req.query
  const found = logoutScopes.find((known) => known === (scope === '' ? 'global' : scope))
  if (found === undefined) throw invalid(`Unsupported logout scope, use one of ${logoutScopes.join(', ')}`)
  return found
}
