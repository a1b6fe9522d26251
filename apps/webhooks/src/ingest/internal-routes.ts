import { type Route } from '@signet/http'
import { type AccountService } from '../accounts/account-service.js'
import { type ServiceToken } from '../config-values.js'
import { type WebhookServices } from '../v1/webhook-services.js'
import { accountRoutes } from './account-routes.js'
import { bodyAdmission } from './body-admission.js'
import { ingestRoutes } from './ingest-routes.js'
import { serviceAuthenticator } from './service-caller.js'

type Deps = { tokens: readonly ServiceToken[]; accounts: AccountService; services: WebhookServices }

/** The internal API (webhooks contract G.1). Never mount it on the public listener. */
export function internalApiRoutes({ tokens, accounts, services }: Deps): Route[] {
  const authenticate = serviceAuthenticator(tokens)
  const admit = bodyAdmission()
  return [
    ...ingestRoutes({ authenticate, admit, ...services }),
    ...accountRoutes({ authenticate, accounts, ...services }),
  ]
}
