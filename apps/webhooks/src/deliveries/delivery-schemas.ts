import type { JsonSchema, ParameterDoc } from '@signet/http'
import { eventTypes } from '@signet/webhook-core'
import { ref } from '../api/v1-docs.js'

const time = { type: 'string', format: 'date-time' }

const DELIVERY_REQUIRED = [
  'id',
  'endpoint_id',
  'event_id',
  'event_type',
  'status',
  'attempts',
  'last_error',
  'delivered_at',
  'created_at',
]

const DELIVERY_PROPERTIES = {
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
}

const milliseconds = (description: string) => ({ type: 'integer', minimum: 0, description })

/** Components of the OpenAPI document. */
export const deliveryComponents: Readonly<Record<string, JsonSchema>> = {
  Delivery: { type: 'object', required: DELIVERY_REQUIRED, properties: DELIVERY_PROPERTIES },
  DeliveryDetail: {
    type: 'object',
    required: [...DELIVERY_REQUIRED, 'next_attempt_at', 'attempt_log'],
    properties: {
      ...DELIVERY_PROPERTIES,
      next_attempt_at: {
        type: 'string',
        description: 'Date and time; empty when it has ended, or while its first attempt is under way',
      },
      attempt_log: {
        type: 'array',
        description: 'Oldest first',
        items: ref('DeliveryAttempt'),
      },
    },
  },
  DeliveryAttempt: {
    type: 'object',
    required: ['number', 'started_at', 'duration_ms', 'phases', 'error', 'peer_address', 'answer'],
    properties: {
      number: { type: 'integer', minimum: 1 },
      started_at: time,
      duration_ms: milliseconds('Until the status line, or until it failed'),
      phases: {
        type: 'object',
        description: 'As far as they ended. A connection that was open already has only `first_byte_ms`.',
        properties: {
          dns_ms: milliseconds('Resolving the name'),
          connect_ms: milliseconds('The TCP connection'),
          tls_ms: milliseconds('The TLS handshake'),
          first_byte_ms: milliseconds('From sending the request until the status line'),
        },
      },
      http_status: { type: 'integer', description: 'Absent without a response' },
      error: { type: 'string', description: 'The failure, as in `last_error`; empty after a success' },
      peer_address: {
        type: 'string',
        description: 'The IP address the request went to; empty without a connection',
      },
      answer: {
        type: 'string',
        description:
          'The first 1024 bytes of the response body, control characters written as `\\n` or `\\u001b`; empty when it is not UTF-8',
      },
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
