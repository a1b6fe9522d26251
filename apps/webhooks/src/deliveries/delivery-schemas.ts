import type { JsonSchema, ParameterDoc } from '@signet/http'
import { eventTypes, tlsProblems } from '@signet/webhook-core'
import {
  count,
  eventId,
  id,
  listOf,
  object,
  pageSize,
  query,
  ref,
  text,
  time,
  timeOrEmpty,
} from '../schemas/schema-parts.js'
import type { Attempt, Delivery, DeliveryDetail } from './delivery-row.js'

const DELIVERY = {
  id: id('The value of `X-Service-Delivery`', '81501'),
  endpoint_id: id('The webhook'),
  event_id: eventId('The event, the same for its replays'),
  event_type: { type: 'string', enum: eventTypes },
  status: { type: 'integer', enum: [0, 1, 2], description: '0 pending, 1 delivered, 2 failed permanently' },
  attempts: count('Attempts so far, those without an HTTP request included'),
  last_error: text(
    'The latest failure, such as `http_503`, `timeout`, `dns_error`, `tls_error` or `endpoint_disabled`; empty before the first one',
    '',
  ),
  delivered_at: timeOrEmpty('Empty until delivered'),
  created_at: time,
}

/** Lists what leaves the server, next to its schema, so that a new column cannot leak by accident. */
export const deliveryView = (delivery: Delivery) => ({
  id: delivery.id,
  endpoint_id: delivery.endpointId,
  event_id: delivery.eventId,
  event_type: delivery.eventType,
  status: delivery.status,
  attempts: delivery.attempts,
  last_error: delivery.lastError,
  delivered_at: delivery.deliveredAt?.toISOString() ?? '',
  created_at: delivery.createdAt.toISOString(),
})

const milliseconds = (description: string, example: number) => count(description, example)

/** Components of the OpenAPI document. */
export const deliveryComponents: Readonly<Record<string, JsonSchema>> = {
  Delivery: object(DELIVERY),
  DeliveryPage: object({
    items: listOf(ref('Delivery')),
    next_cursor: text(
      'Pass it as `cursor` with the same filters for the next page; empty at the end',
      'AAAAAAABPl0',
    ),
  }),
  DeliveryDetail: object({
    ...DELIVERY,
    next_attempt_at: timeOrEmpty('Empty when it has ended, or while its first attempt is in progress'),
    attempt_log: listOf(ref('DeliveryAttempt'), 'In the order in which they were recorded'),
  }),
  DeliveryAttempt: object({
    number: { type: 'integer', minimum: 1 },
    started_at: time,
    duration_ms: milliseconds(
      'Until the headers of the response, or until it failed; 0 when it was `interrupted`',
      231,
    ),
    phases: object(
      {
        'dns_ms?': milliseconds('Resolving the name', 12),
        'connect_ms?': milliseconds('The TCP connection', 25),
        'tls_ms?': milliseconds('The TLS handshake', 48),
        'first_byte_ms?': milliseconds('From sending the request until the headers of the response', 146),
      },
      'As far as they ended. A connection that was open already has only `first_byte_ms`.',
    ),
    'http_status?': {
      type: 'integer',
      minimum: 100,
      maximum: 999,
      description: 'Absent without a response',
      examples: [204],
    },
    error: text('The failure, as in `last_error`; empty after a success', ''),
    'tls_problem?': {
      type: 'string',
      enum: tlsProblems,
      description: 'What was wrong, if `error` is `tls_error` and the cause is known',
      // An attempt in an example has succeeded.
      examples: [],
    },
    peer_address: text(
      'The IP address that was connected to; empty without a connection, or if that is not known',
      '203.0.113.7',
    ),
    answer: text(
      'The first 1024 bytes of the response body, control characters written as `\\n` or `\\u001b`; empty when it is not text',
      '',
    ),
  }),
}

export const deliveryDetailView = ({ delivery, nextAttemptAt, attempts }: DeliveryDetail) => ({
  ...deliveryView(delivery),
  next_attempt_at: nextAttemptAt?.toISOString() ?? '',
  attempt_log: attempts.map(attemptView),
})

const attemptView = ({ phases, ...attempt }: Attempt) => ({
  number: attempt.number,
  started_at: attempt.startedAt.toISOString(),
  duration_ms: attempt.durationMs,
  phases: {
    ...(phases.dns !== undefined && { dns_ms: phases.dns }),
    ...(phases.connect !== undefined && { connect_ms: phases.connect }),
    ...(phases.tls !== undefined && { tls_ms: phases.tls }),
    ...(phases.first_byte !== undefined && { first_byte_ms: phases.first_byte }),
  },
  ...(attempt.httpStatus !== null && { http_status: attempt.httpStatus }),
  error: attempt.error,
  ...(attempt.tlsProblem && { tls_problem: attempt.tlsProblem }),
  peer_address: attempt.peer,
  answer: attempt.answer,
})

/** The query of the delivery log. */
export const deliveryParameters: readonly ParameterDoc[] = [
  query(
    'page',
    { type: 'integer', minimum: 1, maximum: 999_999, default: 1 },
    'Counted from 1. Without filters only.',
  ),
  pageSize,
  query('cursor', { type: 'string' }, 'The `next_cursor` of a response with the same filters.'),
  query('status', { type: 'integer', enum: [0, 1, 2] }, '0 pending, 1 delivered, 2 failed permanently.'),
  query('event_type', { type: 'string', enum: eventTypes }, 'Events of this type.'),
  query('event_id', eventId('An event'), 'One event: its delivery and its replays.'),
  query('since', time, 'Created at this time or later.'),
  query('until', time, 'Created before this time.'),
]
