import type { Route } from '@signet/http'
import type { Authenticate } from './bearer/bearer-authentication.js'
import { deliveryRoutes } from './deliveries/delivery-routes.js'
import { endpointRoutes } from './endpoints/endpoint-routes.js'
import { secretRoutes } from './endpoints/secret-routes.js'
import { testEventRoutes } from './events/test-event-routes.js'
import type { Limits } from './limits/limits.js'
import { recoveryRoutes } from './recoveries/recovery-routes.js'
import { sampleRoutes } from './samples/sample-routes.js'
import { v1Steps } from './api/v1-pipeline.js'
import type { WebhookServices } from './webhook-services.js'

type Deps = {
  bearer: Authenticate
  limits: Pick<Limits, 'v1' | 'v1Writes' | 'testEvents' | 'samples'>
  services: WebhookServices
}

/** All of /v1 (docs/specification.md#common-rules). */
export function v1Routes({ bearer, limits, services }: Deps): Route[] {
  const steps = v1Steps(bearer, limits)
  return [
    ...endpointRoutes({ steps, ...services }),
    ...secretRoutes({ steps, ...services }),
    ...testEventRoutes({ steps, limits, ...services }),
    ...deliveryRoutes({ steps, ...services }),
    ...recoveryRoutes({ steps, ...services }),
    ...sampleRoutes({ steps, limits, ...services }),
  ]
}
