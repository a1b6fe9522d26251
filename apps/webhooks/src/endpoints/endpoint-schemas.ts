import type { JsonSchema } from '@signet/http'
import { eventTypes } from '@signet/webhook-core'
import { count, id, listOf, object, text, time, timeOrEmpty } from '../schemas/schema-parts.js'

/** Bodies as they arrive. Event types are plain strings, so that an unknown type gets a clearer error than the schema's. */
export type CreateEndpointBody = { url: string; events?: string[] | null }
export type UpdateEndpointBody = { url?: string | null; events?: string[] | null }

const MAX_EVENTS = 50

/**
 * Not of the format `uri`: RFC 3986 does not allow every character that browsers accept, and URLs are returned as they were sent. MCP
 * clients refuse a whole response if one format does not match.
 */
const URL_DETAILS = {
  pattern: '^https://',
  maxLength: 2048,
  examples: ['https://app.example.com/hooks'],
}
const eventTypeSchema = { type: 'string', enum: eventTypes, description: 'An event type' }

// Rules that the service checks itself, with better messages, appear only in the document.
const loose = (url: JsonSchema, required: readonly string[]): JsonSchema => ({
  type: 'object',
  required,
  properties: {
    url,
    events: { type: ['array', 'null'], maxItems: MAX_EVENTS, items: { type: 'string' } },
  },
})
export const createEndpointSchema = loose({ type: 'string' }, ['url'])
export const updateEndpointSchema = loose({ type: ['string', 'null'] }, [])

const eventsDoc = {
  description: 'Event types to receive. Left out, null or empty: none.',
  anyOf: [{ type: 'array', maxItems: MAX_EVENTS, items: eventTypeSchema }, { type: 'null' }],
}

export const createEndpointDoc = object({
  url: {
    type: 'string',
    ...URL_DETAILS,
    description: 'https, with a publicly resolvable host; stored exactly as sent',
  },
  'events?': eventsDoc,
})

export const updateEndpointDoc = object({
  'url?': {
    description: 'Left out, null or empty keeps the current one.',
    anyOf: [{ type: 'string', ...URL_DETAILS }, { type: 'string', const: '' }, { type: 'null' }],
  },
  'events?': eventsDoc,
})

const WEBHOOK_FIELDS = {
  url: { type: 'string', maxLength: 2048, description: 'Exactly as sent', examples: URL_DETAILS.examples },
  events: listOf(eventTypeSchema),
  status: { type: 'integer', enum: [1, 2], description: '1 active, 2 disabled' },
}

const secret = (description: string) =>
  text(description, 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD', { pattern: '^whsec_' })

/** Components of the OpenAPI document. */
export const endpointComponents: Readonly<Record<string, JsonSchema>> = {
  Webhook: object({
    id: id('The webhook'),
    ...WEBHOOK_FIELDS,
    consecutive_failures: count('Failed attempts since the last success'),
    failing_since: timeOrEmpty('When the first of these failures ended; empty without one'),
    disabled_at: timeOrEmpty('When it was disabled; empty while active'),
    disabled_reason: text(
      'The failure that disabled it, such as `http_503` or `timeout`; empty while active',
      '',
    ),
    secret_activates_at: timeOrEmpty(
      'When the next signing secret replaces the current one; empty while none is pending',
    ),
    created_at: time,
    updated_at: { ...time, description: 'Moves forward with every delivery attempt' },
  }),
  NextSecret: object({
    endpoint_id: id('The webhook'),
    secret: secret('The next signing secret. Shown only this once.'),
    secret_activates_at: timeOrEmpty('When it replaces the current one; empty when it did at once'),
  }),
  CreatedWebhook: object({
    endpoint_id: id('The webhook'),
    secret: secret('The signing secret. Shown only this once.'),
    ...WEBHOOK_FIELDS,
  }),
}
