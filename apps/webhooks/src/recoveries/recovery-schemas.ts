import type { JsonSchema, ParameterDoc } from '@signet/http'
import { count, id, listOf, object, pageSize, query, ref, text, time } from '../schemas/schema-parts.js'

// The handler checks the formats, with better messages.
export const recoverSchema: JsonSchema = {
  type: 'object',
  required: ['since'],
  properties: {
    since: { type: 'string' },
    until: { type: 'string' },
    what: { type: 'string', enum: ['failed', 'all'] },
  },
}

const what = { type: 'string', enum: ['failed', 'all'] }

export const recoverDoc = object({
  since: { ...time, description: 'Deliveries created at this time or later' },
  'until?': {
    ...time,
    description: 'And before this time; now, if left out',
    examples: ['2026-02-01T00:00:00Z'],
  },
  'what?': {
    ...what,
    default: 'failed',
    description: '`failed`: events that never arrived. `all`: those that did, too.',
  },
})

const LISTED = {
  id: id('The recovery', '12'),
  endpoint_id: id('The webhook'),
  what,
  state: {
    type: 'string',
    enum: ['running', 'done', 'cancelled', 'stopped'],
    description: '`done`: all are queued. `stopped`: the webhook was disabled.',
  },
  since: time,
  until: time,
  matched: count('Events to send again, counted at the start; more when pending ones end while it runs', 3),
  queued: count('New deliveries so far'),
}

/** Components of the OpenAPI document. */
export const recoveryComponents: Readonly<Record<string, JsonSchema>> = {
  Recovery: object({
    ...LISTED,
    delivered: count('Of these, delivered'),
    failed: count('Of these, failed permanently'),
    created_at: time,
  }),
  ListedRecovery: object({ ...LISTED, created_at: time }),
  RecoveryPage: object({
    items: listOf(ref('ListedRecovery')),
    next_cursor: text('Pass it as `cursor` for the next page; empty at the end', ''),
  }),
}

export const recoveryParameters: readonly ParameterDoc[] = [
  pageSize,
  query('cursor', { type: 'string' }, 'The `next_cursor` of the page before.'),
]
