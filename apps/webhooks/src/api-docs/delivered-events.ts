import type { JsonSchema } from '@signet/http'
import { eventTypes } from '@signet/webhook-core'
import type { deliveryHeaders } from '@signet/webhook-core/signature'
import { id, ref, text } from '../schemas/schema-parts.js'
import { eventComponent } from '../samples/sample-schemas.js'

type Header = Exclude<keyof ReturnType<typeof deliveryHeaders>, 'content-type'>

const SECONDS = '1769850000'

/** All headers of a delivery that the signing code sets (docs/specification.md#delivery-headers). */
const headersOf = (type: string) =>
  ({
    'x-service-event': {
      name: 'X-Service-Event',
      description: 'The type of the event.',
      schema: { type: 'string', const: type },
    },
    'x-service-delivery': {
      name: 'X-Service-Delivery',
      description: 'The delivery, the same for every attempt.',
      schema: id('The delivery', '81501'),
    },
    'x-service-timestamp': {
      name: 'X-Service-Timestamp',
      description: 'When this attempt was signed, in Unix seconds. Refuse old ones.',
      schema: text('Decimal digits', SECONDS, { pattern: '^[0-9]+$' }),
    },
    'x-service-signature': {
      name: 'X-Service-Signature',
      description:
        '`sha256=` and the hex HMAC-SHA256 of timestamp, a dot and the raw body, keyed with the whole secret, `whsec_` included. Compare in constant time.',
      schema: text('The signature', `sha256=${'5d41'.repeat(16)}`, { pattern: '^sha256=[0-9a-f]{64}$' }),
    },
    'webhook-id': {
      name: 'webhook-id',
      description: 'Standard Webhooks: the id of the event.',
      schema: text('The event', 'evt_019c12f0a4b87cc2a3d5e6f708192a3b', { pattern: '^evt_' }),
    },
    'webhook-timestamp': {
      name: 'webhook-timestamp',
      description: 'Standard Webhooks: the same time.',
      schema: text('Decimal digits', SECONDS, { pattern: '^[0-9]+$' }),
    },
    'webhook-signature': {
      name: 'webhook-signature',
      description:
        'Standard Webhooks: `v1,` and the base64 HMAC-SHA256 of id, timestamp and raw body separated by dots, keyed with the bytes after `whsec_`. While a secret is being replaced there are two, separated by a space.',
      schema: text('The signatures', 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=', { pattern: '^v1,' }),
    },
  }) satisfies Record<Header, { name: string; description: string; schema: JsonSchema }>

const ANSWERS = {
  '2XX': { description: 'Received. The body is ignored.' },
  default: { description: 'Anything else, a redirect too, is a failure, and the delivery is tried again.' },
}

/** The `webhooks` of the OpenAPI document: the requests that subscribers get, one for each type of the catalogue. */
export const deliveredEvents = (
  types: readonly string[] = eventTypes,
): Readonly<Record<string, JsonSchema>> =>
  Object.fromEntries(
    types.map((type) => {
      const component = eventComponent(type)
      return [
        type,
        {
          post: {
            operationId: `receive${component}`,
            summary: `Receive ${type}`,
            description:
              'A request to the URL of every webhook that subscribes to this type. Verify a signature over the bytes as received, before parsing them. Delivery is at least once, and the order is not guaranteed.',
            tags: [EVENTS_TAG],
            security: [],
            parameters: Object.values(headersOf(type)).map((header) => ({
              ...header,
              in: 'header',
              required: true,
            })),
            requestBody: { required: true, content: { 'application/json': { schema: ref(component) } } },
            responses: ANSWERS,
          },
        },
      ]
    }),
  )

export const EVENTS_TAG = 'Events'
