import type { AppError } from '@signet/errors'
import type { Route } from '@signet/http'
import { accountEventRoutes } from './accounts/account-event-routes.js'
import { AccountEventService } from './accounts/account-event-service.js'
import { accountRoutes } from './accounts/account-routes.js'
import type { AccountService } from './accounts/account-service.js'
import type { ServiceToken } from './config/config-values.js'
import type { Observer } from './observers/observer.js'
import type { WebhookServices } from './webhook-services.js'
import { batchRoutes } from './ingest/batch-routes.js'
import { ingestRoutes } from './ingest/ingest-routes.js'
import { serviceAuthenticator } from './api/service-caller.js'

type Deps = {
  tokens: readonly ServiceToken[]
  accounts: AccountService
  services: WebhookServices
  observer: Observer
  now: () => Date
  /** Converts an outage to the API's own error. */
  translate: (error: unknown) => AppError | undefined
  /** Keys that verify the identity server's events. If there are none, all events are refused. */
  eventKeys: readonly Buffer[]
}

/** The internal API (docs/specification.md#internal-api). Never mount it on the public listener. */
export function internalApiRoutes({
  tokens,
  accounts,
  services,
  observer,
  now,
  eventKeys,
  translate,
}: Deps): Route[] {
  const authenticate = serviceAuthenticator(tokens)
  const accountEvents = new AccountEventService({
    accounts,
    accountRemoval: services.accountRemoval,
    observer,
  })
  return [
    ...ingestRoutes({ authenticate, ...services }),
    ...batchRoutes({ authenticate, translate, ...services }),
    ...accountEventRoutes({ keys: eventKeys, now, accountEvents }),
    ...accountRoutes({ authenticate, accounts, now, ...services }),
  ]
}
