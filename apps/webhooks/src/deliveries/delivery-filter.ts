import { eventTypes, parseEventId } from '@signet/webhook-core'
import { choiceParameter, textParameter, timeParameter, type WithQuery } from '../api/query.js'
import { RuleError } from '../errors/rule-error.js'
import type { DeliveryFilter } from './delivery-row.js'

/** Returns the filter in the query of a request. Throws `bad_request` if it is invalid. */
export function filterOf(req: WithQuery): DeliveryFilter {
  const status = choiceParameter(req, 'status', ['0', '1', '2'])
  const eventId = textParameter(req, 'event_id')
  const event = eventId === undefined ? undefined : parseEventId(eventId)
  if (event === null) throw new RuleError('filter.event')
  const [since, until] = [timeParameter(req, 'since'), timeParameter(req, 'until')]
  if (since && until && since >= until) throw new RuleError('filter.range')
  return {
    status: status === undefined ? undefined : STATUSES[status],
    eventType: choiceParameter(req, 'event_type', eventTypes),
    eventId: event,
    since,
    until,
  }
}

const STATUSES = { 0: 0, 1: 1, 2: 2 } as const
