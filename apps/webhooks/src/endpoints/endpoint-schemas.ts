import type { JsonSchema } from '@signet/http'
import { eventTypes } from '@signet/webhook-core'

/** Bodies as they arrive. Event types are plain strings, so that an unknown one gets a clearer error than the schema's. */
export type CreateEndpointBody = { url: string; events?: string[] | null }
export type UpdateEndpointBody = { url?: string | null; events?: string[] | null }

const events = {
  type: ['array', 'null'],
  maxItems: 50,
  items: { type: 'string' },
  description: `Event types to receive: ${eventTypes.map((type) => `\`${type}\``).join(', ')}. Left out, null or empty: none.`,
}

export const createEndpointSchema: JsonSchema = {
  type: 'object',
  required: ['url'],
  properties: {
    url: { type: 'string', description: 'https, at most 2048 characters, with a publicly resolvable host' },
    events,
  },
}

export const updateEndpointSchema: JsonSchema = {
  type: 'object',
  properties: {
    url: { type: ['string', 'null'], description: 'Left out, null or empty keeps the current one.' },
    events,
  },
}

const SUBSCRIPTION_FIELDS = {
  url: { type: 'string' },
  events: { type: 'array', items: { type: 'string' } },
  status: { type: 'integer', enum: [1, 2], description: '1 active, 2 disabled' },
}
const time = { type: 'string', format: 'date-time' }

/** Components of the OpenAPI document. */
export const endpointComponents: Readonly<Record<string, JsonSchema>> = {
  Subscription: {
    type: 'object',
    required: [
      'id',
      'url',
      'events',
      'status',
      'consecutive_failures',
      'failing_since',
      'disabled_at',
      'disabled_reason',
      'secret_activates_at',
      'created_at',
      'updated_at',
    ],
    properties: {
      id: { type: 'string', description: 'Decimal digits' },
      ...SUBSCRIPTION_FIELDS,
      consecutive_failures: { type: 'integer', description: 'Failed attempts since the last success' },
      failing_since: {
        type: 'string',
        description: 'Date and time of the first of these failures; empty without one',
      },
      disabled_at: { type: 'string', description: 'Date and time; empty while active' },
      disabled_reason: {
        type: 'string',
        description: 'The failure that disabled it, such as `http_503` or `timeout`; empty while active',
      },
      secret_activates_at: {
        type: 'string',
        description:
          'Date and time when the next signing secret replaces the current one; empty while none waits',
      },
      created_at: time,
      updated_at: { ...time, description: 'Moves forward with every delivery attempt' },
    },
  },
  NextSecret: {
    type: 'object',
    required: ['endpoint_id', 'secret', 'secret_activates_at'],
    properties: {
      endpoint_id: { type: 'string', description: 'Decimal digits' },
      secret: { type: 'string', description: 'The next signing secret, `whsec_…`. Shown only this once.' },
      secret_activates_at: {
        type: 'string',
        description: 'Date and time when it replaces the current one; empty when it did at once',
      },
    },
  },
  CreatedSubscription: {
    type: 'object',
    required: ['endpoint_id', 'secret', 'url', 'events', 'status'],
    properties: {
      endpoint_id: { type: 'string', description: 'Decimal digits' },
      secret: { type: 'string', description: 'The signing secret, `whsec_…`. Shown only this once.' },
      ...SUBSCRIPTION_FIELDS,
    },
  },
}
