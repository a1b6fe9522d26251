import type { JsonSchema } from '@signet/http'
import type { Endpoint } from '@signet/webhook-core/stores'
import { ref } from '../api/v1-docs.js'

/** What leaves the server is listed here, so a new column cannot leak by itself. */
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

/** An answer with one subscription, for the document. */
export const oneEndpoint = (description: string): { description: string; schema: JsonSchema } => ({
  description,
  schema: { type: 'object', required: ['item'], properties: { item: ref('Subscription') } },
})
