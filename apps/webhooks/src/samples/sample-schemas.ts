import type { JsonSchema } from '@signet/http'
import { dataSchema, eventTypes } from '@signet/webhook-core'

/** Components of the OpenAPI document. */
export const sampleComponents: Readonly<Record<string, JsonSchema>> = {
  Event: {
    type: 'object',
    required: ['id', 'type', 'created_at', 'data'],
    properties: {
      id: {
        type: 'string',
        description: 'Unique. Drop events you have already seen. Ids of samples start with `evt_sample_`.',
      },
      type: { type: 'string', enum: eventTypes },
      created_at: { type: 'string', format: 'date-time' },
      data: dataSchema(),
    },
  },
}
