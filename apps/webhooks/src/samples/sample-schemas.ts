import type { JsonSchema } from '@signet/http'
import { eventSchema, eventTypes } from '@signet/webhook-core'
import { ref } from '../schemas/schema-parts.js'

/** Name of the component of an event type: `SummaryCompletedEvent`. */
export const eventComponent = (type: string): string =>
  `${type.replace(/(?:^|\W|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Event`

/** Components of the OpenAPI document, one for each event type of the catalogue. */
export const eventComponents: Readonly<Record<string, JsonSchema>> = {
  ...Object.fromEntries(eventTypes.map((type) => [eventComponent(type), eventSchema(type) as JsonSchema])),
  Event: {
    oneOf: eventTypes.map((type) => ref(eventComponent(type))),
    discriminator: {
      propertyName: 'type',
      mapping: Object.fromEntries(eventTypes.map((type) => [type, ref(eventComponent(type))['$ref']])),
    },
  },
}
