import { parseDeliveryId, parseEndpointId, parseEventId } from '@signet/webhook-core'
import type { DeliveryJob, EventsJob, QueuedEventRef } from '@signet/webhook-core/queue'

/**
 * Counts the failed runs of the job. In `unsent` runs, every request that was sent had its result recorded. In `listed` runs some results
 * are missing, and `unrecorded` lists the endpoints that these requests went to.
 */
export type DispatchJob = EventsJob & { unsent?: number; listed?: number }

/**
 * A run is lost if its worker died, or if it made an attempt whose result could not be recorded; `unrecorded` counts the latter. A later
 * run records the attempt of each lost run, and `lost` counts those for which that is done.
 */
export type AttemptJob = DeliveryJob & { lost?: number; unrecorded?: number }

/** Returns null for data that we never add to the `events` queue. Fields that a newer version added are kept. */
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

/** Returns null for data that we never add to the `deliveries` queue. */
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

/** Parses the data of a job as it is stored in Redis; undefined if it is not JSON. */
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
