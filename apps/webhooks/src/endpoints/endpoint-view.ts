import type { Endpoint } from '@signet/webhook-core/stores'
import { oneItem, ref } from '../schemas/schema-parts.js'

/** Lists what leaves the server, so that a new column cannot leak by accident. */
export const endpointView = (endpoint: Endpoint) => ({
  id: endpoint.id,
  url: endpoint.url,
  events: endpoint.events,
  status: endpoint.status,
  consecutive_failures: endpoint.consecutiveFailures,
  failing_since: endpoint.failingSince?.toISOString() ?? '',
  disabled_at: endpoint.disabledAt?.toISOString() ?? '',
  disabled_reason: endpoint.disabledReason ?? '',
  secret_activates_at: endpoint.secretActivatesAt?.toISOString() ?? '',
  created_at: endpoint.createdAt.toISOString(),
  updated_at: endpoint.updatedAt.toISOString(),
})

/** An answer with one endpoint, for the API document. */
export const oneEndpoint = (description: string) => oneItem(description, ref('Webhook'))
