import { route, type Route } from '@signet/http'
import { storable } from '@signet/webhook-core'
import { type Request } from 'express'
import { type AccountService } from '../accounts/account-service.js'
import { ref, responses } from '../v1/v1-docs.js'
import { accountIdOf } from './account-id.js'
import { type AccountRemovalService } from './account-removal-service.js'
import { revokeAccountSchema } from './ingest-schemas.js'
import { type ServiceCaller } from './service-caller.js'

type Deps = {
  authenticate: (req: Request) => ServiceCaller
  accounts: AccountService
  accountRemoval: AccountRemovalService
}

const docs = { tag: 'Accounts', security: ['service'] }
const DEFAULT_REASON = 'account_revoked'

/** What happens to accounts elsewhere (webhooks contract G.1), for the internal listener only. */
export const accountRoutes = ({ authenticate, accounts, accountRemoval }: Deps): Route[] => [
  route<ServiceCaller, { reason?: string }>({
    method: 'post',
    path: '/internal/v1/accounts/:account_id/revoke',
    docs: {
      ...docs,
      summary: 'End all access of an account',
      description: 'Grants, personal tokens and sessions, at once. For bans and signing out everywhere.',
      responses: responses({ 200: { description: 'Revoked', schema: ref('Ok') } }, 400, 401),
    },
    authenticate,
    guard: ({ req }) => void accountIdOf(req),
    body: { as: 'json', maxBytes: 4096, schema: revokeAccountSchema, optional: true },
    async handle({ body, req, context }) {
      await accounts.revoke(accountIdOf(req), storable(body.reason ?? DEFAULT_REASON), context.log)
      return { body: { ok: true } }
    },
  }),
  route<ServiceCaller>({
    method: 'delete',
    path: '/internal/v1/accounts/:account_id',
    docs: {
      ...docs,
      summary: 'Delete everything of an account',
      description: 'Ends all access, then deletes subscriptions, events, deliveries and recordings.',
      responses: responses({ 200: { description: 'Deleted', schema: ref('Ok') } }, 401),
    },
    authenticate,
    async handle({ caller, req, context }) {
      await accountRemoval.remove(caller, accountIdOf(req), context.log)
      return { body: { ok: true } }
    },
  }),
]
