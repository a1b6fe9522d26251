import type { Language } from '@signet/language'
import type { EventId } from '../ids.js'
import type { RecordingContent } from '../recordings/recording-content.js'

/** What every event's envelope starts with. */
export type EventHeader = { id: EventId | `evt_sample_${string}`; createdAt: Date }

export type RecordingSubject = RecordingContent & { audioId: string }
export type EndpointSubject = { endpointId: string }

type Documentation = {
  /** Completes the sentence "Sent when …". Documentation is in English, pages are in the reader's language. */
  sentWhen: Readonly<Record<Language, string>>
  /** JSON Schema of the members of `data`, by name, in the order in which the body has them. */
  properties: Readonly<Record<string, object>>
  /** Those that are always there. */
  required: readonly string[]
  /** Invented `data` with every member, for accounts that have no event of this type. */
  sample: object
}

/**
 * Everything there is to know about one event type. `subject` says what its data is about, and so what `build` gets: a stored
 * recording, or the one endpoint that the event is for. `build` returns the body as JSON text.
 */
export type EventDefinition = Documentation &
  (
    | { subject: 'recording'; build: (header: EventHeader, recording: RecordingSubject) => string }
    | { subject: 'endpoint'; build: (header: EventHeader, endpoint: EndpointSubject) => string }
  )

export type Envelope<Type extends string, Data> = {
  id: EventHeader['id']
  type: Type
  created_at: string
  data: Data
}

/** Member order is the order in the body. */
export const envelopeOf = <Type extends string, Data>(
  type: Type,
  { id, createdAt }: EventHeader,
  data: Data,
): Envelope<Type, Data> => ({ id, type, created_at: createdAt.toISOString(), data })
