import type { JsonSchema, ParameterDoc } from '@signet/http'
import { eventTypes } from '@signet/webhook-core'

const time = { type: 'string', format: 'date-time' }

/** Components of the OpenAPI document. */
export const deliveryComponents: Readonly<Record<string, JsonSchema>> = {
  Delivery: {
    type: 'object',
    required: [
      'id',
      'endpoint_id',
      'event_id',
      'event_type',
      'status',
      'attempts',
      'last_error',
      'delivered_at',
      'created_at',
    ],
    properties: {
      id: { type: 'string', description: 'Decimal digits; the value of `X-Service-Delivery`' },
      endpoint_id: { type: 'string' },
      event_id: { type: 'string', description: '`evt_…`' },
      event_type: { type: 'string' },
      status: { type: 'integer', enum: [0, 1, 2], description: '0 pending, 1 delivered, 2 failed for good' },
      attempts: { type: 'integer', description: 'Attempts so far, those without an HTTP request included' },
      last_error: {
        type: 'string',
        description:
          'The latest failure, such as `http_503`, `timeout`, `dns_error`, `tls_error` or `endpoint_disabled`; empty before the first one',
      },
      delivered_at: { type: 'string', description: 'Date and time; empty until delivered' },
      created_at: time,
    },
  },
}

const query = (name: string, schema: JsonSchema, description: string): ParameterDoc => ({
  name,
  in: 'query',
  schema,
  description,
})

/** The query of the delivery log. */
export const deliveryParameters: readonly ParameterDoc[] = [
  query(
    'page',
    { type: 'integer', minimum: 1, maximum: 999_999, default: 1 },
    'Counted from 1. Without filters only.',
  ),
  query('page_size', { type: 'integer', minimum: 1, default: 20 }, 'At most 100; more counts as 100.'),
  query('cursor', { type: 'string' }, 'The `next_cursor` of an answer with the same filters.'),
  query('status', { type: 'integer', enum: [0, 1, 2] }, '0 pending, 1 delivered, 2 failed for good.'),
  query('event_type', { type: 'string', enum: eventTypes }, 'Events of this type.'),
  query('event_id', { type: 'string' }, 'One event: its delivery and its replays.'),
  query('since', time, 'Created at this time or later.'),
  query('until', time, 'Created before this time.'),
]
