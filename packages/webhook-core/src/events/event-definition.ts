import type { Language } from '@signet/language'
import type { EventId } from '../ids.js'
import type { RecordingContent } from '../recordings/recording-content.js'

/** What every event's envelope starts with. */
export type EventHeader = { id: EventId | `evt_sample_${string}`; createdAt: Date }

export type RecordingSubject = RecordingContent & { audioId: string }
export type EndpointSubject = { endpointId: string }

/** JSON Schema, as far as events need it. */
export type MemberSchema = { readonly description?: string; readonly format?: 'date-time' } & (
  | { readonly type: 'string' | 'integer' | 'number' | 'boolean' }
  | { readonly type: 'array'; readonly items: MemberSchema }
  | ({ readonly type: 'object' } & MembersSchema)
)

/** The members of an object by name, in the order in which the body has them, and the names of those that are always there. */
export type MembersSchema = {
  readonly properties: Readonly<Record<string, MemberSchema>>
  readonly required: readonly string[]
}

/** What a schema describes, as a type: the two cannot differ. */
export type ValueOf<S> = S extends { type: 'string' }
  ? string
  : S extends { type: 'integer' | 'number' }
    ? number
    : S extends { type: 'boolean' }
      ? boolean
      : S extends { items: infer Item }
        ? ValueOf<Item>[]
        : S extends { properties: infer Members; required: readonly (infer Name)[] }
          ? { [Each in keyof Members & Name]: ValueOf<Members[Each]> } & {
              [Each in Exclude<keyof Members, Name>]?: ValueOf<Members[Each]>
            }
          : never

type Documentation = MembersSchema & {
  /** Completes the sentence "Sent when …". Documentation is in English, pages are in the reader's language. */
  sentWhen: Readonly<Record<Language, string>>
  /** Invented `data` with every member, for accounts that have no event of this type. */
  sample: object
}

/** An event with the content of a recording. Deleting the recording purges it. */
export type ContentEvent = Documentation & {
  subject: 'recording'
  endsWithRecording: true
  build: (header: EventHeader, recording: RecordingSubject) => string
}

/** An event that is delivered although its recording was deleted, so it has nothing of the recording but its id. */
export type OutlivingEvent = Documentation & {
  subject: 'recording'
  endsWithRecording: false
  build: (header: EventHeader, recording: Pick<RecordingSubject, 'audioId'>) => string
}

/** An event about the one endpoint that it is for. */
export type EndpointEvent = Documentation & {
  subject: 'endpoint'
  build: (header: EventHeader, endpoint: EndpointSubject) => string
}

/**
 * Everything about one event type. `subject` says what its data is about, and so what `build` gets; `build` returns the body as
 * JSON text. Use `switch (definition.subject)` without a default: a new kind of subject then does not compile until each has its case.
 */
export type EventDefinition = ContentEvent | OutlivingEvent | EndpointEvent

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
