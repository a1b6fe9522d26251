import { route, type Route } from '@signet/http'
import { storable } from '../text/storable.js'
import type { Request } from 'express'
import { ref } from '../schemas/schema-parts.js'
import { responses } from '../api/v1-docs.js'
import { accountIdOf } from '../api/account-id.js'
import type { AccountRemovalService } from './account-removal-service.js'
import { revokeAccountSchema } from '../ingest/ingest-schemas.js'
import type { ServiceCaller } from '../api/service-caller.js'
import type { AccountService } from './account-service.js'

type Deps = {
  authenticate: (req: Request) => ServiceCaller
  accounts: AccountService
  accountRemoval: AccountRemovalService
  now: () => Date
}

const docs = { tag: 'Accounts', security: ['service'] }
const DEFAULT_REASON = 'account_revoked'

/** Routes that revoke or delete an account (docs/specification.md#internal-api). For the internal listener only. */
export const accountRoutes = ({ authenticate, accounts, accountRemoval, now }: Deps): Route[] => [
  route<ServiceCaller, { reason?: string }>({
    method: 'post',
    path: '/internal/v1/accounts/:account_id/revoke',
    docs: {
      ...docs,
      operationId: 'revokeAccountAccess',
      summary: 'Revoke all access of an account',
      description: 'Grants, personal tokens and sessions, at once.',
      responses: responses({ 200: { description: 'Revoked', schema: ref('Ok') } }, 400, 401, 404, 413),
    },
    authenticate,
    guard: ({ req }) => void accountIdOf(req),
    body: { as: 'json', maxBytes: 4096, schema: revokeAccountSchema, optional: true },
    async handle({ body, req, context }) {
      await accounts.signOut(accountIdOf(req), now(), storable(body.reason ?? DEFAULT_REASON), context)
      return { body: { ok: true } }
    },
  }),
  route<ServiceCaller>({
    method: 'delete',
    path: '/internal/v1/accounts/:account_id',
    docs: {
      ...docs,
      operationId: 'deleteAccount',
      summary: 'Delete everything of an account',
      description:
        'Ends all access, then deletes webhooks, events, deliveries and recordings. Final: nothing can be stored for the account afterwards.',
      responses: responses({ 200: { description: 'Deleted', schema: ref('Ok') } }, 401, 404),
    },
    authenticate,
    async handle({ caller, req, context }) {
      const accountId = accountIdOf(req)
      await accountRemoval.begin(caller.name, accountId, now(), context)
      await accountRemoval.purge(accountId)
      return { body: { ok: true } }
    },
  }),
]
