import type { JsonSchema } from '@signet/http'

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
