import { isEventType, type EventType } from '@signet/webhook-core'
import { badRequest } from '../errors/api-errors.js'

/** The event types of a request: known ones only, each once, in the order given (docs/specification.md#creating-a-webhook). */
export function eventList(given: readonly string[] | null | undefined): EventType[] {
  const known = new Set<EventType>()
  for (const type of given ?? []) {
    if (!isEventType(type)) throw badRequest(`Unknown event type: ${type.slice(0, 64)}`)
    known.add(type)
  }
  return [...known]
}
