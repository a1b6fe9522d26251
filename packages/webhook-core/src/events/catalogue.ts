import { envelopeOf, type EventDefinition } from './event-definition.js'
import { summaryCompleted } from './summary-completed.js'
import { webhookPing } from './webhook-ping.js'

/** Every event type. To add one, write a file next to this one and its test, and add a line here. */
export const catalogue = {
  'summary.completed': summaryCompleted,
  'webhook.ping': webhookPing,
} as const satisfies EventCatalogue

/** Definitions by type. Tests pass their own catalogues. */
export type EventCatalogue = Readonly<Record<string, EventDefinition>>
export type EventType = keyof typeof catalogue

export const eventTypes = Object.keys(catalogue) as EventType[]

export const isEventType = (value: unknown): value is EventType =>
  typeof value === 'string' && Object.hasOwn(catalogue, value)

/** Throws for a type without a definition: an event of a newer version waits until this process is updated. */
export function definitionOf<Type extends EventType>(type: Type): (typeof catalogue)[Type]
export function definitionOf(type: string, definitions?: EventCatalogue): EventDefinition
export function definitionOf(type: string, definitions: EventCatalogue = catalogue): EventDefinition {
  const definition = Object.hasOwn(definitions, type) ? definitions[type] : undefined
  if (!definition) throw new Error(`there is no definition of the event type ${type}`)
  return definition
}

/** Types whose events are delivered even if their recording was deleted. */
export const typesOutlivingRecordings = (definitions: EventCatalogue = catalogue): string[] =>
  Object.keys(definitions).filter((type) => outlivesRecording(definitionOf(type, definitions)))

function outlivesRecording(definition: EventDefinition): boolean {
  switch (definition.subject) {
    case 'recording':
      return !definition.endsWithRecording
    case 'endpoint':
      return false // It is not about a recording.
  }
}

const SAMPLE_TIME = new Date('2026-01-01T09:31:02.000Z')

/** A fictitious event of a type, as JSON text. */
export function sampleEvent(type: string, definitions: EventCatalogue = catalogue): string {
  const header = { id: `evt_sample_${type.replaceAll('.', '_')}`, createdAt: SAMPLE_TIME } as const
  return JSON.stringify(envelopeOf(type, header, definitionOf(type, definitions).sample))
}

/** JSON Schema for the events of a type, as they are delivered and as samples show them. */
export function eventSchema(type: string, definitions: EventCatalogue = catalogue): object {
  const { sentWhen, properties, required } = definitionOf(type, definitions)
  return {
    type: 'object',
    description: `Sent when ${sentWhen.en}.`,
    required: ['id', 'type', 'created_at', 'data'],
    properties: {
      id: {
        type: 'string',
        pattern: '^evt_',
        description: 'Unique. Drop events you have already seen. Ids of samples start with `evt_sample_`.',
      },
      type: { type: 'string', const: type },
      created_at: { type: 'string', format: 'date-time' },
      data: { type: 'object', required, properties },
    },
    examples: [JSON.parse(sampleEvent(type, definitions))],
  }
}
