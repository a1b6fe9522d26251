import { withoutInvisible } from '@signet/pages/visible'
import { eventTypes, isEventType, type EventType } from '@signet/webhook-core'
import { RuleError } from '../errors/rule-error.js'

/** The event types of a request: known ones only, each once, in the order given (docs/specification.md#creating-a-webhook). */
export const eventList = (given: readonly string[] | null | undefined): EventType[] => [
  ...new Set((given ?? []).map(knownType)),
]

/** Throws for a type that does not exist, with a message that lists those that do. */
export function knownType(type: string): EventType {
  if (isEventType(type)) return type
  const shown = withoutInvisible(type).trim().slice(0, 64)
  const known = eventTypes.join(', ')
  if (shown === '') throw new RuleError('event.empty', { values: { known } })
  throw new RuleError('event.unknown', { values: { type: shown, known } })
}
