import { route, type Route } from '@signet/http'
import type { Request } from 'express'
import { authError, invalid } from '../errors/auth-error.js'
import type { Redirects } from '../redirects/redirects.js'
import type { Bearer } from '../bearer/bearer.js'
import { throughout } from '../bearer/gates.js'
import { bodyDoc, oneOf } from '../requests/body-docs.js'
import { docs, query } from '../requests/docs.js'
import { jsonBody, type BodyOf } from '../requests/json-body.js'
import type { RequestGuard } from '../bearer/request-guard.js'
import { isVersioned } from '../requests/versioning.js'
import { factorView, userView } from '../users/user-view.js'
import { isUuid } from '../users/uuid.js'
import type { Admin } from '../administrators/admin.js'
import type { AdminUserService } from './admin-user-service.js'
import type { AuditListService } from './audit-list-service.js'
import type { LinkService } from './link-service.js'
import { LINK_TYPES } from './link-types.js'
import { pageOf, pagingHeaders, textOf } from './paging.js'
import type { UserRemovalService } from './user-removal-service.js'

type Deps = {
  bearer: Bearer
  guard: RequestGuard
  adminUsers: AdminUserService
  userRemovals: UserRemovalService
  auditLists: AuditListService
  links: LinkService
  redirects: Redirects
}

const userFields = {
  role: 'string',
  email: 'string',
  phone: 'string',
  password: 'string',
  password_hash: 'string',
  email_confirm: 'boolean',
  phone_confirm: 'boolean',
  user_metadata: 'object',
  app_metadata: 'object',
  ban_duration: 'string',
  id: 'string',
  aud: 'string',
} as const
type UserBody = BodyOf<typeof userFields>

const linkFields = {
  type: 'string',
  email: 'string',
  new_email: 'string',
  password: 'string',
  data: 'object',
  redirect_to: 'string',
} as const

const changeable = [
  'email',
  'phone',
  'password',
  'password_hash',
  'email_confirm',
  'phone_confirm',
  'user_metadata',
  'app_metadata',
  'role',
  'aud',
  'ban_duration',
] as const
const newUserDoc = bodyDoc([], [...changeable, 'id'])

/** The client sends empty strings for parameters that it was not given. */
const numberOrEmpty = (fallback: number) => ({
  anyOf: [
    { type: 'integer', minimum: 0, maximum: 999_999_999 },
    { type: 'string', maxLength: 0 },
  ],
  default: fallback,
})

const paging = [
  query('page', 'From 1; empty or 0 is the first.', false, numberOrEmpty(1)),
  query('per_page', 'At most 1000: larger numbers mean 1000. Empty or 0 means 50.', false, numberOrEmpty(50)),
]

/** The `user_id` of the path; anything but a UUID is an unknown user (docs/specification.md#administration). */
export function userIdOf(req: Request): string {
  const id = textOf(req.params['user_id'])
  if (!isUuid(id)) throw authError('not_found', 'validation_failed', 'user_id must be a UUID')
  return id.toLowerCase()
}

/** Users, links and the audit log for administrators (docs/specification.md#administration and docs/specification.md#generated-links). */
export function adminRoutes(deps: Deps): Route[] {
  return [...userRoutes(deps), ...otherRoutes(deps)]
}

function userRoutes({ bearer, guard, adminUsers, userRemovals }: Deps): Route[] {
  const gate = throughout(bearer.admin())
  const admin = { tag: 'Administration', security: 'admin' } as const
  return [
    route<Admin>({
      method: 'get',
      path: '/admin/users',
      docs: docs('listUsers', 'List users', {
        ...admin,
        parameters: [
          ...paging,
          query('sort', 'Which come first: `created_at asc` or `created_at desc`.', false, {
            type: 'string',
            pattern: '^\\s*(created_at(\\s+([Aa][Ss][Cc]|[Dd][Ee][Ss][Cc]))?\\s*)?$',
          }),
          query('filter', 'Part of an email address or full name.'),
        ],
        answer: { description: 'A page of users', schema: 'UserList' },
        errors: [400, 401, 403],
      }),
      ...gate,
      async handle({ caller, req }) {
        const page = pageOf(req.query)
        const search = { sort: textOf(req.query['sort']), filter: textOf(req.query['filter']) }
        const { users, total } = await adminUsers.list(caller, { page, ...search })
        return {
          headers: pagingHeaders('/admin/users', page, total, search),
          body: { users: users.map(userView), aud: caller.aud },
        }
      },
    }),
    route<Admin, UserBody>({
      method: 'post',
      path: '/admin/users',
      docs: docs('createUser', 'Create a user', {
        ...admin,
        body: newUserDoc,
        answer: { description: 'The user', schema: 'User' },
        errors: [401, 403, 409, 422],
      }),
      ...gate,
      body: jsonBody(userFields),
      handle: async ({ caller, body, req }) => ({
        body: userView(await adminUsers.create(caller, body, guard.metaOf(req))),
      }),
    }),
    route<Admin, UserBody>({
      method: 'post',
      path: '/admin/users/:user_id',
      docs: docs('createUserWithId', 'Create a user with this id', {
        ...admin,
        body: newUserDoc,
        answer: { description: 'The user', schema: 'User' },
        errors: [401, 403, 404, 409, 422],
      }),
      ...gate,
      body: jsonBody(userFields),
      async handle({ caller, body, req }) {
        const id = userIdOf(req)
        if (body.id !== undefined && body.id !== '' && body.id.toLowerCase() !== id)
          throw invalid('The id in the body differs from the id in the path')
        return { body: userView(await adminUsers.create(caller, { ...body, id }, guard.metaOf(req))) }
      },
    }),
    route<Admin>({
      method: 'get',
      path: '/admin/users/:user_id',
      docs: docs('getUserById', 'A user', {
        ...admin,
        answer: { description: 'The user', schema: 'User' },
        errors: [401, 403, 404],
      }),
      ...gate,
      handle: async ({ req }) => ({ body: userView(await adminUsers.get(userIdOf(req))) }),
    }),
    route<Admin, UserBody>({
      method: 'put',
      path: '/admin/users/:user_id',
      docs: docs('updateUserById', 'Change a user', {
        ...admin,
        description:
          'The password only changes in requests with API version 2024-01-01. `password_hash` and `aud` are ignored: they count ' +
          'only when a user is created.',
        body: bodyDoc([], changeable),
        answer: { description: 'The user', schema: 'User' },
        errors: [401, 403, 404, 409, 422],
      }),
      ...gate,
      body: jsonBody(userFields, { optional: true }),
      async handle({ caller, body, req }) {
        const password = isVersioned(req) ? body.password : undefined
        const user = await adminUsers.update(caller, userIdOf(req), body, password, guard.metaOf(req))
        return { body: userView(user) }
      },
    }),
    route<Admin, { should_soft_delete?: boolean }>({
      method: 'delete',
      path: '/admin/users/:user_id',
      docs: docs('deleteUser', 'Delete a user', {
        ...admin,
        body: bodyDoc([], ['should_soft_delete']),
        answer: { description: 'Done', schema: 'Empty' },
        errors: [401, 403, 404, 409],
      }),
      ...gate,
      body: jsonBody({ should_soft_delete: 'boolean' }, { optional: true }),
      async handle({ caller, body, req }) {
        const softly = body.should_soft_delete === true
        await userRemovals.remove(caller, { id: userIdOf(req), softly }, guard.metaOf(req))
        return { body: {} }
      },
    }),
    route<Admin>({
      method: 'get',
      path: '/admin/users/:user_id/factors',
      docs: docs('listUserFactors', 'The second factors of a user', {
        ...admin,
        answer: { description: 'The factors', schema: 'FactorList' },
        errors: [401, 403, 404],
      }),
      ...gate,
      handle: async ({ req }) => ({ body: (await adminUsers.get(userIdOf(req))).factors.map(factorView) }),
    }),
  ]
}

function otherRoutes({ bearer, guard, auditLists, links, redirects }: Deps): Route[] {
  const gate = throughout(bearer.admin())
  const admin = { tag: 'Administration', security: 'admin' } as const
  return [
    route<Admin>({
      method: 'get',
      path: '/admin/audit',
      docs: docs('listAuditEntries', 'The audit log', {
        ...admin,
        parameters: [...paging, query('query', '`author:…`, `action:…` or `type:…`, each with a substring.')],
        answer: { description: 'A page of entries, newest first', schema: 'AuditEntryList' },
        errors: [400, 401, 403],
      }),
      ...gate,
      async handle({ req }) {
        const page = pageOf(req.query)
        const search = { query: textOf(req.query['query']) }
        const { entries, total } = await auditLists.list(search.query, page)
        return { headers: pagingHeaders('/admin/audit', page, total, search), body: entries }
      },
    }),
    route<Admin, BodyOf<typeof linkFields>>({
      method: 'post',
      path: '/admin/generate_link',
      docs: docs('generateLink', 'Generate the link of an email without sending it', {
        ...admin,
        body: bodyDoc(['email'], ['new_email', 'password', 'data', 'redirect_to'], {
          type: oneOf(LINK_TYPES, 'What the link is for'),
        }),
        answer: { description: 'The user, and the link and its parts', schema: 'GeneratedLink' },
        errors: [401, 403, 404, 409, 422],
      }),
      ...gate,
      body: jsonBody(linkFields),
      async handle({ caller, body, req }) {
        const redirectTo = redirects.accepted(body.redirect_to ?? '') ?? redirects.targetOf(req)
        const link = await links.generate(caller, body, redirectTo, guard.metaOf(req))
        return {
          body: {
            ...userView(link.user),
            action_link: link.actionLink,
            email_otp: link.otp,
            hashed_token: link.hashedToken,
            verification_type: link.verificationType,
            redirect_to: redirectTo,
          },
        }
      },
    }),
  ]
}
