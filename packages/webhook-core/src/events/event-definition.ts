import type { Language } from '@signet/language'
import type { EventId } from '../ids.js'
import type { RecordingContent } from '../recordings/recording-content.js'

/** The beginning of every event's envelope. */
export type EventHeader = { id: EventId | `evt_sample_${string}`; createdAt: Date }

export type RecordingSubject = RecordingContent & { audioId: string }
export type EndpointSubject = { endpointId: string }

/** The part of JSON Schema that events need. */
export type MemberSchema = { readonly description?: string; readonly format?: 'date-time' } & (
  | { readonly type: 'string' | 'integer' | 'number' | 'boolean' }
  | { readonly type: 'array'; readonly items: MemberSchema }
  | ({ readonly type: 'object' } & MembersSchema)
)

/** The members of an object by name, in the order of the body, and the names of those that are always present. */
export type MembersSchema = {
  readonly properties: Readonly<Record<string, MemberSchema>>
  readonly required: readonly string[]
}

/** The type that a schema describes. Deriving it keeps the two the same. */
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
  /** Fictitious `data` with every member, for accounts that have no event of this type. */
  sample: object
}

/** An event with the content of a recording. Deleting the recording purges it. */
export type ContentEvent = Documentation & {
  subject: 'recording'
  endsWithRecording: true
  build: (header: EventHeader, recording: RecordingSubject) => string
}

/** An event that is delivered even if its recording was deleted, so it contains nothing of the recording except its id. */
export type OutlivingEvent = Documentation & {
  subject: 'recording'
  endsWithRecording: false
  build: (header: EventHeader, recording: Pick<RecordingSubject, 'audioId'>) => string
}

/** An event about the endpoint that receives it. */
export type EndpointEvent = Documentation & {
  subject: 'endpoint'
  build: (header: EventHeader, endpoint: EndpointSubject) => string
}

/**
 * Everything about one event type. `subject` says what its data is about, which determines what `build` receives. `build` returns the
 * body as JSON text. Use `switch (definition.subject)` without a default, so that a new kind of subject does not compile until every
 * switch has a case for it.
 */
export type EventDefinition = ContentEvent | OutlivingEvent | EndpointEvent

export type Envelope<Type extends string, Data> = {
  id: EventHeader['id']
  type: Type
  created_at: string
  data: Data
}

/** The members are in the order of the body. */
export const envelopeOf = <Type extends string, Data>(
  type: Type,
  { id, createdAt }: EventHeader,
  data: Data,
): Envelope<Type, Data> => ({ id, type, created_at: createdAt.toISOString(), data })
