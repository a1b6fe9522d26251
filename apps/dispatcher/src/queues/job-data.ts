import { parseDeliveryId, parseEndpointId, parseEventId } from '@signet/webhook-core'
import type { DeliveryJob, EventsJob, QueuedEventRef } from '@signet/webhook-core/queue'

/**
 * How many of its runs failed: `unsent` without a request whose result is not recorded, `listed` with such requests, all of them to
 * the endpoints in `unrecorded`.
 */
export type DispatchJob = EventsJob & { unsent?: number; listed?: number }

/**
 * `unrecorded`: how many of its runs made an attempt whose result could not be recorded. Like the runs whose workers died, they are
 * lost; `lost` is of how many of both the attempt has been recorded.
 */
export type AttemptJob = DeliveryJob & { lost?: number; unrecorded?: number }

/** Null unless it is what the `events` queue was given. Fields that a newer version added are kept. */
export function parseEventsJob(data: unknown): DispatchJob | null {
  if (!isRecord(data)) return null
  const { events, deferred, failed, unsent, listed, unrecorded = [] } = data
  const isValid =
    Array.isArray(events) &&
    events.length > 0 &&
    events.every(isEventRef) &&
    isOptional('string', deferred) &&
    isOptional('boolean', failed) &&
    isOptional('number', unsent) &&
    isOptional('number', listed) &&
    Array.isArray(unrecorded) &&
    unrecorded.every(isEndpointId)
  return isValid ? (data as DispatchJob) : null
}

/** Null unless it is what the `deliveries` queue was given. */
export function parseAttemptJob(data: unknown): AttemptJob | null {
  if (!isRecord(data)) return null
  const { deliveryId, endpointId, accountId, lost, unrecorded } = data
  const isValid =
    typeof deliveryId === 'string' &&
    parseDeliveryId(deliveryId) !== null &&
    isEndpointId(endpointId) &&
    typeof accountId === 'string' &&
    isOptional('number', lost) &&
    isOptional('number', unrecorded)
  return isValid ? (data as AttemptJob) : null
}

/** Parses the text that Redis has for a job; undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

const isOptional = (type: 'string' | 'boolean' | 'number', value: unknown): boolean =>
  value === undefined || typeof value === type

const isEndpointId = (value: unknown): boolean => typeof value === 'string' && parseEndpointId(value) !== null

const isEventRef = (value: unknown): value is QueuedEventRef =>
  isRecord(value) &&
  typeof value['eventId'] === 'string' &&
  parseEventId(value['eventId']) !== null &&
  typeof value['accountId'] === 'string' &&
  isOptional('number', value['bytes'])
