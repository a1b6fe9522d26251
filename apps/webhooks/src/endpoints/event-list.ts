import { withoutInvisible } from '@signet/pages/visible'
import { eventTypes, isEventType, type EventType } from '@signet/webhook-core'
import { RuleError } from '../errors/rule-error.js'

/**
 * Returns the event types of a request, each once and in the given order. Unknown types are errors
 * (docs/specification.md#creating-a-webhook).
 */
export const eventList = (given: readonly string[] | null | undefined): EventType[] => [
  ...new Set((given ?? []).map(knownType)),
]

/** Throws if the type does not exist, with a message that lists the existing ones. */
export function knownType(type: string): EventType {
  if (isEventType(type)) return type
  const shown = withoutInvisible(type).trim().slice(0, 64)
  const known = eventTypes.join(', ')
  if (shown === '') throw new RuleError('event.empty', { values: { known } })
  throw new RuleError('event.unknown', { values: { type: shown, known } })
}
