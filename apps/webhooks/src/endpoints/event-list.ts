import { isEventType, type EventType } from '@signet/webhook-core'
import { RuleError } from '../errors/rule-error.js'

/** The event types of a request: known ones only, each once, in the order given (docs/specification.md#creating-a-webhook). */
export function eventList(given: readonly string[] | null | undefined): EventType[] {
  const known = new Set<EventType>()
  for (const type of given ?? []) {
    if (!isEventType(type)) throw new RuleError('event.unknown', { values: { type: type.slice(0, 64) } })
    known.add(type)
  }
  return [...known]
}
