import type { Resource, ResourceTemplateType, TextResourceContents } from '@modelcontextprotocol/server'
import { definitionOf, eventTypes, sampleEvent, type EventType } from '@signet/webhook-core'

const JSON_TYPE = 'application/json'

type EventResource = { listed: Resource; read: () => string }

/** The event catalogue and a fictitious event of each type. They are the same for every account, so reading them needs no query. */
const resources: ReadonlyMap<string, EventResource> = new Map(
  [
    resource(
      {
        uri: 'signet://events',
        name: 'events',
        title: 'Event catalogue',
        description: 'Every event type, when it is sent, and the schema of its data',
      },
      () => JSON.stringify({ events: eventTypes.map(entryOf) }),
    ),
    ...eventTypes.map((type) =>
      resource(
        {
          uri: `signet://events/${type}/sample`,
          name: `${type} sample`,
          title: `Sample of ${type}`,
          description: `An invented event, as sent when ${definitionOf(type).sentWhen.en}`,
        },
        () => sampleEvent(type),
      ),
    ),
  ].map((one) => [one.listed.uri, one]),
)

export const listedResources: Resource[] = [...resources.values()].map(({ listed }) => listed)

export const resourceTemplates: ResourceTemplateType[] = [
  {
    uriTemplate: 'signet://events/{type}/sample',
    name: 'sample',
    title: 'Sample of an event type',
    description: `An invented event of a type: ${eventTypes.join(', ')}`,
    mimeType: JSON_TYPE,
  },
]

/** Returns null if there is no resource at this URI. */
export function readResource(uri: string): TextResourceContents | null {
  const found = resources.get(uri)
  return found ? { uri, mimeType: JSON_TYPE, text: found.read() } : null
}

function resource(listed: Omit<Resource, 'mimeType'>, read: () => string): EventResource {
  return { listed: { ...listed, mimeType: JSON_TYPE }, read }
}

const entryOf = (type: EventType) => ({
  type,
  sent_when: definitionOf(type).sentWhen.en,
  data: { type: 'object', properties: definitionOf(type).properties },
  sample: `signet://events/${type}/sample`,
})
