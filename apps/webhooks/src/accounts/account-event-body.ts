import { compileSchema, type JsonSchema } from '@signet/http'
import type { AccountEvent } from './account-event.js'

const ISO_TIME = '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,6})?Z$'
const time = { type: 'string', format: 'date-time', pattern: ISO_TIME }

export const accountEventSchema: JsonSchema = {
  type: 'object',
  required: ['type', 'timestamp', 'data'],
  properties: {
    type: {
      type: 'string',
      description:
        '`user.banned`, `user.unbanned`, `user.sessions_ended`, `user.signed_out` or `user.deleted`; others are taken and ignored',
      examples: ['user.signed_out'],
    },
    timestamp: { ...time, description: 'When it was decided' },
    data: {
      type: 'object',
      required: ['user_id'],
      properties: {
        user_id: { type: 'string', format: 'uuid' },
        banned_until: { ...time, description: 'Of `user.banned`' },
        session_ids: {
          type: 'array',
          items: { type: 'string', format: 'uuid' },
          description: 'Of `user.sessions_ended`: those of the identity server that are over',
        },
      },
    },
  },
}

type Body = {
  type: string
  timestamp: string
  data: { user_id: string; banned_until?: string; session_ids?: string[] }
}

const check = compileSchema(accountEventSchema)

/** Returns the event in a body: `unknown` for a type that a later version added, `malformed` for anything that is not an event. */
export function readAccountEvent(bytes: Uint8Array): AccountEvent | 'unknown' | 'malformed' {
  const value = parseJson(bytes)
  if (typeof value !== 'object' || value === null || check(value)) return 'malformed'
  const { type, timestamp, data } = value as Body
  const common = { accountId: data.user_id.toLowerCase(), decidedAt: timestamp }
  switch (type) {
    case 'user.banned':
      return data.banned_until === undefined
        ? 'malformed'
        : { ...common, type, bannedUntil: data.banned_until }
    case 'user.sessions_ended':
      return data.session_ids === undefined ? 'malformed' : { ...common, type, sessionIds: data.session_ids }
    case 'user.unbanned':
    case 'user.signed_out':
    case 'user.deleted':
      return { ...common, type }
    default:
      return 'unknown'
  }
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return null
  }
}
