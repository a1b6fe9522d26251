import { withoutInvisible } from '@signet/pages/visible'
import { route, type JsonSchema, type Route } from '@signet/http'
import type { Caller } from '../bearer/bearer-service.js'
import { notFound } from '../errors/api-errors.js'
import { RuleError } from '../errors/rule-error.js'
import type { Limits } from '../limits/limits.js'
import { SCOPE_CONNECT } from '../oauth/scope.js'
import { id, listOf, object, ref, text, time, timeOrEmpty } from '../schemas/schema-parts.js'
import { responses } from '../api/v1-docs.js'
import type { accountAuthentication, Manager } from './account-authentication.js'
import type { PersonalToken } from '../credentials/personal-token.js'
import type { PersonalTokenService } from './personal-token-service.js'

type Deps = {
  personalTokens: PersonalTokenService
  accountAuthentication: ReturnType<typeof accountAuthentication>
  limits: Pick<Limits, 'personalTokens'>
}

type CreateBody = { name: string; expires_in_days?: number }

const createSchema = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string' },
    expires_in_days: { type: 'integer', minimum: 1, maximum: 365, default: 90 },
  },
}

// Invisible characters do not count, so the service checks the length itself.
const createDoc = object({
  name: text('What it is for', 'Laptop', { minLength: 1, maxLength: 100 }),
  'expires_in_days?': createSchema.properties.expires_in_days,
})

const docs = { tag: 'Personal tokens', security: ['tokens', 'user'] }

/** `/account/tokens` (docs/specification.md#personal-tokens). */
export const personalTokenRoutes = ({
  personalTokens,
  accountAuthentication: { manager, owner, ended },
  limits,
}: Deps): Route[] => [
  route<Manager, CreateBody>({
    method: 'post',
    path: '/account/tokens',
    docs: {
      ...docs,
      operationId: 'createPersonalToken',
      summary: 'Create a personal token',
      description: 'The token is shown only this once.',
      body: createDoc,
      responses: responses(
        { 201: { description: 'Created', schema: ref('CreatedPersonalToken') } },
        400,
        401,
        403,
        413,
        429,
      ),
    },
    ...manager,
    body: { as: 'json', maxBytes: 64 * 1024, schema: createSchema },
    async handle({ caller, body, context }) {
      const name = readTokenName(body.name)
      await limits.personalTokens.consume(caller.accountId)
      const created = await personalTokens.create(caller, { name, days: body.expires_in_days }, context)
      if (!created) throw ended()
      return { status: 201, body: { ...view(created), token: created.token } }
    },
  }),
  route<Manager>({
    method: 'get',
    path: '/account/tokens',
    docs: {
      ...docs,
      operationId: 'listPersonalTokens',
      summary: 'List personal tokens',
      description: 'Newest first, without the tokens themselves.',
      responses: responses(
        { 200: { description: 'The tokens', schema: object({ items: listOf(ref('PersonalToken')) }) } },
        401,
        403,
      ),
    },
    ...manager,
    async handle({ caller }) {
      const tokens = await personalTokens.list(caller.accountId)
      return {
        status: 200,
        body: { items: tokens.map((token) => ({ ...view(token), status: token.status })) },
      }
    },
  }),
  route<Caller>({
    method: 'delete',
    path: '/account/tokens/current',
    docs: {
      ...docs,
      security: ['bearer'],
      operationId: 'revokeCurrentPersonalToken',
      summary: 'Revoke the personal token that makes this request',
      responses: responses({ 200: { description: 'Revoked', schema: ref('Ok') } }, 401, 403),
    },
    ...owner,
    async handle({ caller, context }) {
      if (!(await personalTokens.revoke(caller.accountId, caller.personalTokenId, context))) throw notFound()
      return { status: 200, body: { ok: true } }
    },
  }),
  route<Manager>({
    method: 'delete',
    path: '/account/tokens/:id',
    docs: {
      ...docs,
      operationId: 'revokePersonalToken',
      summary: 'Revoke a personal token',
      responses: responses({ 200: { description: 'Revoked', schema: ref('Ok') } }, 401, 403, 404),
    },
    ...manager,
    async handle({ caller, req, context }) {
      const id = String(req.params['id'])
      if (!isTokenId(id) || !(await personalTokens.revoke(caller.accountId, id, context))) throw notFound()
      return { status: 200, body: { ok: true } }
    },
  }),
]

const MAX_BIGINT = 9223372036854775807n
export const isTokenId = (text: string) => /^[1-9][0-9]{0,18}$/.test(text) && BigInt(text) <= MAX_BIGINT

/** Returns a valid name, or throws `bad_request`. */
export function readTokenName(name: string): string {
  const visible = withoutInvisible(name).trim()
  const length = [...visible].length
  if (length < 1 || length > 100 || /[\p{Cc}\p{Cs}]/u.test(name.trim())) throw new RuleError('token.name')
  return visible
}

const view = ({ id, name, hint, createdAt, expiresAt, lastUsedAt }: PersonalToken) => ({
  id,
  name,
  hint,
  scope: SCOPE_CONNECT,
  created_at: createdAt.toISOString(),
  expires_at: expiresAt.toISOString(),
  last_used_at: lastUsedAt?.toISOString() ?? '',
})

const FIELDS = {
  id: id('The personal token', '31'),
  name: text('As its owner called it', 'Laptop', { minLength: 1, maxLength: 100 }),
  hint: text('Prefix and last four characters', 'svp_…x7Qd'),
  scope: text('Space-separated scopes', SCOPE_CONNECT),
  created_at: time,
  expires_at: time,
  last_used_at: timeOrEmpty('Empty before the first use'),
}

/** Components of the OpenAPI document. */
export const personalTokenComponents: Readonly<Record<string, JsonSchema>> = {
  PersonalToken: object({ ...FIELDS, status: { type: 'string', enum: ['active', 'expired', 'inactive'] } }),
  CreatedPersonalToken: object({
    ...FIELDS,
    token: text('Shown only this once', 'svp_Zq2mT8vLr0Xk4nBy7JcWd1HsPf5Ge91a2B3c', { pattern: '^svp_' }),
  }),
}
