import { route, type Route } from '@signet/http'
import type { Redirects } from '../redirects/redirects.js'
import type { Admin } from '../administrators/admin.js'
import type { Bearer } from '../bearer/bearer.js'
import { throughout } from '../bearer/gates.js'
import { bodyDoc } from '../requests/body-docs.js'
import { docs, query } from '../requests/docs.js'
import { jsonBody, type BodyOf } from '../requests/json-body.js'
import type { RequestGuard } from '../bearer/request-guard.js'
import { userView } from '../users/user-view.js'
import type { InviteService } from './invite-service.js'

type Deps = {
  bearer: Bearer
  guard: RequestGuard
  invites: InviteService
  redirects: Redirects
  config: { jwtAdminRoles: readonly string[] }
}

/**
 * The specification lets these roles invite, regardless of AUTH_JWT_ADMIN_ROLES (docs/specification.md#invitations).
 */
const INVITING_ROLES = ['service_role', 'supabase_admin']

const fields = { email: 'string', data: 'object' } as const

export function inviteRoutes({ bearer, guard, invites, redirects, config }: Deps): Route[] {
  return [
    route<Admin, BodyOf<typeof fields>>({
      method: 'post',
      path: '/invite',
      docs: docs('inviteUser', 'Invite a user by email', {
        tag: 'Administration',
        security: 'admin',
        parameters: [query('redirect_to', 'Where the link leads.')],
        body: bodyDoc(['email'], ['data']),
        answer: { description: 'The invited user', schema: 'User' },
        errors: [400, 401, 403, 409, 422, 429],
      }),
      ...throughout(bearer.admin([...INVITING_ROLES, ...config.jwtAdminRoles])),
      body: jsonBody(fields),
      handle: async ({ caller, body, req }) => ({
        body: userView(await invites.invite(caller, body, redirects.targetOf(req), guard.metaOf(req))),
      }),
    }),
  ]
}
